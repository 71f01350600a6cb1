"""A downloaded data set, checked before it is indexed."""
