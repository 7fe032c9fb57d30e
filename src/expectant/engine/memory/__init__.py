"""Memory: what runs will hold, what is free, and saying no before anything is built."""
