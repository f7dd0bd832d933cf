"""What the interop tests are made of: see README.md beside this folder."""
