"""Options: load the generated code of skills and tasks, and run it call-and-return.

`load` executes generated code with restricted builtins; `executive` runs options over states and knows no torch, no
nle and no arrays.
"""
