"""The environments: PettingZoo (``aec.py``) and many tables at once (``batched.py``)."""
