/// Commands declared once as a table; parsing, help, completion and the man page are folds over it.
