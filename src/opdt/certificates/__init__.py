"""Certificates: the answer of a search with a proof that `opdt.verify` checks on its own."""

from opdt.certificates.certificate import Certificate, certify
from opdt.certificates.claims import cells_of
from opdt.certificates.reading import read_source

__all__ = ["Certificate", "cells_of", "certify", "read_source"]
