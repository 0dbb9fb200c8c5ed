"""What reproduces other papers, on top of the core, which does not import it."""
