"""Networks of slim for the classification of images."""
