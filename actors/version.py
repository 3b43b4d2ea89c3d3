"""The version of this code, as told in health."""

VERSION = "0.1.0"
