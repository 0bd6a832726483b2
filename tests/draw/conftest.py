"""Lets the tests of this folder import its helper modules."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
