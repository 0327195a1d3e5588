"""Images: codecs, colours, resizing, boxes."""
