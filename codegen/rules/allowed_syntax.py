"""Allow the kinds of syntax that are known to be harmless, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from codegen.contract import words
from codegen.rules._rule import Rule

_ALLOWED = words(
    # layout
    "Module SimpleStatementLine SimpleStatementSuite IndentedBlock SimpleWhitespace TrailingWhitespace EmptyLine Newline "
    "Comment ParenthesizedWhitespace Comma Colon Semicolon Dot LeftParen RightParen LeftSquareBracket "
    "RightSquareBracket LeftCurlyBrace RightCurlyBrace AssignEqual "
    # statements
    "Expr Assign AssignTarget AnnAssign Annotation AugAssign If Else For Return Pass Break Continue "
    "FunctionDef ClassDef Import ImportFrom ImportAlias AsName Parameters Param "
    # values
    "Name Attribute Call Arg Integer Float SimpleString ConcatenatedString FormattedString FormattedStringText "
    "FormattedStringExpression Tuple List Set Dict DictElement Element StarredElement StarredDictElement "
    "Subscript SubscriptElement Index Slice ListComp SetComp DictComp GeneratorExp CompFor CompIf IfExp Lambda "
    # operators
    "BinaryOperation Add Subtract Multiply Divide FloorDivide Modulo Power BitAnd BitOr BitXor RightShift "
    "UnaryOperation Not Minus Plus BitInvert BooleanOperation And Or Comparison ComparisonTarget Equal NotEqual "
    "LessThan LessThanEqual GreaterThan GreaterThanEqual In NotIn Is IsNot AddAssign SubtractAssign MultiplyAssign "
    "DivideAssign FloorDivideAssign ModuloAssign BitAndAssign BitOrAssign BitXorAssign"
)

_HINTS = {
    "While": "Write `for _ in range(n)` with a number n.",
    "Try": "Test the condition beforehand with `if`; exceptions may not be hidden.",
    "TryStar": "Test the condition beforehand with `if`; exceptions may not be hidden.",
    "Raise": "Every call must give an answer: return one.",
    "Assert": "Assertions belong into the unit test: functions whose names begin with `test_`.",
    "With": "There is nothing to open or to close.",
    "Asynchronous": "Write plain functions.",
    "Await": "Write plain functions.",
    "Yield": "Return a value instead.",
    "Global": "Keep what must be remembered in attributes: `self.x`.",
    "Nonlocal": "Keep what must be remembered in attributes: `self.x`.",
    "Del": "Leave it out, or build a new value without the part.",
    "Decorator": "Write plain methods with `self`.",
    "NamedExpr": "Assign on a line of its own.",
    "Match": "Write `if` and `elif`.",
    "ParamStar": "Name every parameter.",
    "ParamSlash": "Leave the `/` out.",
    "Ellipsis": "Write the code; nothing may be left open.",
    "LeftShift": "Multiply by a number.",
    "PowerAssign": "Write `x ** 2` with a number.",
}
_WORDS = {
    "Asynchronous": "`async`", "NamedExpr": "`:=`", "Decorator": "a decorator", "ParamStar": "`*` among the parameters",
    "ParamSlash": "`/` among the parameters", "Ellipsis": "`...`", "LeftShift": "`<<`", "Imaginary": "a complex number",
    "PowerAssign": "`**=`", "LeftShiftAssign": "`<<=`", "MatrixMultiply": "`@`",
}  # fmt: skip


class AllowedSyntax(Rule):
    """Refuse every node type that is not on the list; methods for the refused ones are made below."""


def _refuse(node_name: str) -> Callable[[AllowedSyntax, cst.CSTNode], None]:
    def visit(self: AllowedSyntax, node: cst.CSTNode) -> None:
        if node in self.facts.annotations and node_name == "Ellipsis":
            return
        if self.context.kind == "test" and node_name == "Assert":
            return
        if type(self.facts.parent.get(node)).__name__ not in _ALLOWED | {"NoneType"}:
            return  # `except` belongs to a `try` that has been reported
        word = _WORDS.get(node_name) or f"`{node_name.lower()}`"
        self.report(node, f"{word} is not allowed", _HINTS.get(node_name, "Say it with plainer code."))

    visit.__name__ = f"visit_{node_name}"
    return visit


def _node_names() -> list[str]:
    """List the names of all node types that this libcst knows, so that new syntax is refused until it is listed."""
    return sorted(
        name
        for name, value in vars(cst).items()
        if isinstance(value, type) and issubclass(value, cst.CSTNode) and not name.startswith(("Base", "CST"))
    )


for _name in _node_names():
    if _name not in _ALLOWED:
        setattr(AllowedSyntax, f"visit_{_name}", _refuse(_name))
