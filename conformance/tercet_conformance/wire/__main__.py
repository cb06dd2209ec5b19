"""Serves an implementation over the wire: ``python -m tercet_conformance.wire module:factory``."""

from argparse import ArgumentParser

from tercet_conformance.loading import load
from tercet_conformance.wire.server import serve

parser = ArgumentParser(prog="python -m tercet_conformance.wire", description=__doc__)
parser.add_argument("implementation", help="module:factory, or a bundled name")
serve(load(parser.parse_args().implementation))
