"""What a model is: graphs of layers, and how they are trained."""
