"""What answers and confidences are worth, question by question and together."""
