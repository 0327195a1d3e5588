"""What a program tells TensorBoard: summaries and event files."""
