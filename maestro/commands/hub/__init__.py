"""Share trained policies through the Hugging Face hub."""
