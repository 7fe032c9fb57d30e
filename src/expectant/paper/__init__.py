"""The paper: its figures and readings as data, and what comes out of them."""
