"""Communicators, what is made of them, and what ranks keep with them."""
