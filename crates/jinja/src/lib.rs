//! Jinja2 with Python's value semantics.
