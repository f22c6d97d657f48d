"""Check a certificate of opdt: one file, NumPy only, nothing imported from opdt.

    python verify.py rule.cert data.csv

A certificate claims that no allowed rule is worth more than a bound. This program counts all of it
again from the data, in whole numbers, and says "verified" or what fails first:

* A rule is a set of conditions and a class, worth the sum of the *gains* of the rows it covers.
* An *axis* is a feature with an operator; its *positions* 1, 2, … are its conditions. On a
  threshold axis, position j covers the rows whose *level* is at least j: the larger j, the fewer.
* Rules of one class on the same axes form a box of positions. The certificate cuts threshold axes
  into intervals, and so the box into *cells*. In the cell of the intervals first … last, a rule
  covers no row below a `first` and all rows that reach every `last`. So it gains at most the
  gains > 0 of rows that reach every `first`, and the gains < 0 of rows that reach every `last`.
* A cell is settled if that is within the bound, or if by the same sums its rules break a limit.
  Every other cell must be cut again by a box of the certificate, down to single rules.

Which axes may stand together is worked out from the structure, and the cuts of an axis must hold all
its positions, so the cells hold all allowed rules. No number is trusted that can be counted.
"""

import csv
import gzip
import hashlib
import json
import sys
from bisect import bisect_left
from fractions import Fraction
from itertools import combinations, permutations
from math import prod

import numpy as np

VERSION = 1
MOST_CELLS = 1 << 26  # of one count: half a gigabyte
RIGHT, LEFT = (">=", "==", "in", "is missing"), ("<", "!=", "in", "is present")


class Rejected(Exception):
    """Why a certificate is not accepted, in one sentence."""


def level_text(cell):
    """A level as text, whatever type a reader gives it; None if it is missing."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


class RawColumn:
    """`codes`: the place of each row's cell among the sorted distinct `values`; -1 if missing."""

    def __init__(self, name, kind, cells):
        self.name, self.kind = name, kind
        if kind == "level":
            texts = [level_text(cell) for cell in cells]
            self.values = sorted(set(texts) - {None})
            places = {text: code for code, text in enumerate(self.values)} | {None: -1}
            self.codes = np.array([places[text] for text in texts], np.int32)
            self.bytes = json.dumps(self.values).encode()
            return
        cells = np.array(cells, "datetime64[us]" if kind == "date" else None)
        known = cells == cells
        if cells.dtype == object:
            known = np.array([cell is not None and cell == cell for cell in cells], bool)
        numbers = cells[known].astype(int) if kind == "date" else np.array(cells[known].tolist())
        numbers, places = np.unique(numbers, return_inverse=True)
        self.codes = np.full(len(cells), -1, np.int32)
        self.codes[known] = places.reshape(-1)
        self.values, doubles = numbers.tolist(), numbers.astype(float) + 0.0  # -0.0 is 0.0
        exact = numbers.dtype.kind == "f" or (np.abs(doubles) < 2.0**53).all()
        self.bytes = doubles.astype(">f8").tobytes() if exact else str(self.values).encode()


def fingerprint(columns, target, units):
    """SHA-256 of all that is used, whatever the order of the rows and the format of the file."""
    whole, rows = hashlib.sha256(), []
    for column in (*columns, target):
        head = json.dumps([column.name, column.kind, len(column.bytes)])
        whole.update(head.encode() + column.bytes)
    for first in range(0, len(units), 1 << 16):  # a row: its codes, its class, its weight
        part = slice(first, first + (1 << 16))
        codes = np.column_stack([column.codes[part] for column in (*columns, target)])
        weights = units[part, None].astype("<i8").view(np.uint8)
        plain = np.hstack([codes.astype("<i4").view(np.uint8), weights])
        rows += [hashlib.sha256(row).digest() for row in plain]
    whole.update(b"".join(sorted(rows)))
    return whole.hexdigest()


class PositionAxis:
    """A feature with an operator. `levels`: the level of each row, 0 if no position covers it."""

    def __init__(self, feature, op, column, held):
        self.feature, self.op, self.column = feature, op, column
        codes, n = column.codes, len(column.values)
        self.levels, self.top = codes + 1, n  # of == and !=: one position for each value
        self.is_threshold, self.width = op in (">=", "<"), n
        if self.is_threshold:
            levels = codes if op == ">=" else n - 1 - codes
            self.levels, self.top = np.where(codes < 0, 0, levels), n - 1
        elif op == "in":
            sizes = range(2, min(len(held), n - 2) + 1)
            self.sets = [some for size in sizes for some in combinations(sorted(held), size)]
            self.holds = np.array([[v in some for v in range(n)] for some in self.sets], int)
            self.top = len(self.sets)
        elif op in ("is missing", "is present"):
            self.levels = ((codes < 0) == (op == "is missing")).astype(int)
            self.top = self.width = 1

    def fold(self, table, dim):
        """Turn sums over the rows of each level into sums over the rows of each position."""
        if self.is_threshold:
            return suffix_sums(table, dim)
        if self.op == "in":
            return np.moveaxis(np.tensordot(self.holds, table, (1, dim)), 0, dim)
        return table.sum(dim, keepdims=True) - table if self.op == "!=" else table

    def code(self, starts, end, gains, rows):
        """How many intervals, from the loosest on, may cover rows (gain > 0) or must (gain < 0);
        of other axes the level, or whether a single condition covers the row.
        """
        if not self.is_threshold:
            return self.levels[rows] if len(starts) > 1 else self.covers(starts[0])[rows] * 1
        may = np.searchsorted(starts, self.levels[rows], "right")
        must = np.searchsorted(np.append(starts[1:] - 1, end), self.levels[rows], "right")
        return np.where(gains > 0, may, must)

    def covers(self, position):
        """Which rows a condition covers."""
        if self.is_threshold:
            return self.levels >= position
        covered = self.fold(np.eye(self.width, dtype=int), 0)[position - 1]
        return np.append(covered, 0)[self.levels - 1] > 0  # level 0 takes the last

    def position(self, value):
        """The position of the condition with this threshold, level or set of levels."""
        values, at = self.column.values, 1
        if self.column.kind == "date" and self.is_threshold:
            value = int(np.datetime64(value, "us").astype(int))
        if self.is_threshold:
            code = bisect_left(values, value)
            at = code if self.op == ">=" else len(values) - code
        elif self.op == "in":
            at = 1 + self.sets.index(tuple(sorted(values.index(text) for text in value)))
        elif self.op in ("==", "!="):
            at = 1 + values.index(value)
        if not 1 <= at <= self.top:
            raise Rejected(f"{self.column.name!r} {self.op} {value!r} is no condition.")
        return at

    def say(self, *positions):
        """Some conditions, for people."""
        said = " to ".join(map(str, dict.fromkeys(positions)))
        return f"{self.column.name!r} {self.op} (position {said})"


class AllowedRules:
    """What the problem allows: its axes, and which of them may stand together."""

    def __init__(self, problem, columns):
        self.required, self.once = set(problem["required"]), problem["once"]
        chains, self.axes, self.types, self._known = _chains(problem, columns), [], [], {}
        for feature, column in enumerate(columns):
            held = [column.values.index(v) for v in problem["subsets"].get(str(feature), ())]
            for op in _operators(feature, column, problem):
                axis = PositionAxis(feature, op, column, held)
                fits = tuple(tuple(feature in of and op in ops for of, ops, _ in c) for c in chains)
                if axis.top > 0 and any(map(any, fits)):
                    self.axes.append(axis)
                    self.types.append(fits)
        self.idle = [[idle for _, _, idle in chain] for chain in chains]
        self.depth = max(map(len, chains))

    def complete(self, axes):
        """Whether rules may be made of exactly these axes."""
        used = {self.axes[a].feature for a in axes}
        return self.required <= used and self.fit(self.types[a] for a in axes)

    def fit(self, types):
        """Whether axes of these types can each take a node of one path. A node that is left over
        must be idle, or repeat one of their conditions.
        """
        types = tuple(sorted(types))
        if types not in self._known:
            self._known[types] = any(
                all(of[c][d] for of, d in zip(types, taken))
                and all(may or any(of[c][d] for of in types) for d, may in enumerate(idle))
                for c, idle in enumerate(self.idle)
                for taken in permutations(range(len(idle)), len(types))
            )
        return self._known[types]

    def clash(self, a, b):
        """Whether conditions of two axes always come to one, or `once` forbids them together."""
        one, two = self.axes[a], self.axes[b]
        alone = a == b and one.op not in ("!=", "in")  # of two thresholds the tighter says it all
        twice = self.once and {one.op, two.op} in ({">=", "<"}, {"!="})
        return one.feature == two.feature and (alone or twice)


def _chains(problem, columns):
    """For each target leaf the nodes above it: features, operators, whether it may be idle."""
    split, group, target = (problem["structure"][name] for name in ("split", "group", "target"))
    depth, chains = len(target).bit_length() - 1, {}
    if not len(target) == 1 << depth == len(split) + 1 == len(group) + 1:
        raise Rejected("the structure is no complete binary tree.")
    for leaf in (len(target) + at for at, wanted in enumerate(target) if wanted):
        chain = []
        for node, right in ((leaf >> up, leaf >> (up - 1) & 1) for up in range(depth, 0, -1)):
            if split[node - 1]:
                name = group[node - 1]
                of = range(len(columns)) if name == "all" else problem["groups"][name]
                forced = name != "all" and all(columns[f].kind == "level" for f in of)
                chain.append((frozenset(of), RIGHT if right else LEFT, right and not forced))
        chains[tuple(chain)] = None
    return list(chains)


def _operators(feature, column, problem):
    """The operators that conditions on a feature may have."""
    ops = ["==", "!="] if column.kind == "level" else [">=", "<"]
    if str(feature) in problem["directions"]:
        ops = [problem["directions"][str(feature)]]
    elif str(feature) in problem["subsets"]:
        ops.append("in")
    if problem["missing_conditions"] and (column.codes < 0).any():
        ops += ["is missing", "is present"]
    return [] if feature in problem["forbidden"] else ops


def add_up(cells, gains, n):
    """The sum of the gains in each of n cells. Doubles hold whole numbers below 2**53 exactly."""
    if np.abs(gains).sum(dtype=float) < 2.0**52:
        return np.bincount(cells, gains, n).astype(np.int64)
    high, low = (np.bincount(cells, part, n) for part in (gains >> 26, gains & (2**26 - 1)))
    return (high.astype(np.int64) << 26) + low.astype(np.int64)


def suffix_sums(table, dim):
    """Sums from each place to the end, along one dimension."""
    back = (slice(None),) * dim + (slice(None, None, -1),)
    return table[back].cumsum(dim)[back]


def interval(starts, end, at):
    """The first and the last position of one interval."""
    return int(starts[at]), int(starts[at + 1]) - 1 if at + 1 < len(starts) else int(end)


def check_cuts(starts, low, high):
    """The first positions of intervals that hold each of low … high once."""
    starts = np.array(starts, np.int64)
    rising = starts.ndim == 1 and len(starts) and (np.diff(starts) > 0).all()
    if not (rising and starts[0] == low and starts[-1] <= high):
        raise Rejected(f"cuts of positions {low} to {high} leave some out or repeat them.")
    return starts


class Argument:
    """Settles the rules of one class. A rule matters only if each of its `sums`, pairs (gains,
    most), exceeds its most: its worth the bound, and for each limit what would break it.
    """

    def __init__(self, rules, label, gains, limits, bound, cuts, boxes):
        self.rules, self.label, self.boxes, self.n_cells = rules, label, boxes, 0
        self.sums = limits  # bound None: no rule keeps the limits
        if bound is not None:  # who covers nothing gains 0, so that to cover a row is no limit
            self.sums = [(gains, bound), *(of for of in limits if bound < 0 or of[1] != 0)]
        self.cuts = [np.arange(1, axis.width + 1) for axis in rules.axes]
        for a, axis in enumerate(rules.axes):
            if axis.is_threshold:
                self.cuts[a] = check_cuts(cuts.get((label, a)), 1, axis.top)
        small = np.min_scalar_type(max(map(len, self.cuts), default=0))
        self.codes = [np.empty((len(rules.axes), len(gains)), small) for gains, _ in self.sums]
        for (gains, _), codes in zip(self.sums, self.codes):
            for code, axis, starts in zip(codes, rules.axes, self.cuts):
                code[:] = axis.code(starts, axis.top, gains, slice(None))

    def check(self, axes, rows):
        """Settle the rules whose first axes are these; `rows`: what they may cover, for each sum."""
        if self.rules.complete(axes):
            self.settle_set(axes, rows)
        if len(axes) == self.rules.depth:
            return
        first, able = axes[-1] if axes else 0, True
        for (gains, most), codes, at in zip(self.sums, self.codes, rows):
            able = able & ((codes[first:, at] > 0) @ np.maximum(gains[at], 0) > most)
        for b in first + np.flatnonzero(able):  # others cover too little, whatever is added
            if not any(self.rules.clash(a, b) for a in axes):
                kept = [at[of[b, at] > 0] for of, at in zip(self.codes, rows)]
                self.check((*axes, int(b)), kept)

    def settle_set(self, axes, rows):
        """Settle the rules on exactly these axes."""
        on, cuts = [self.rules.axes[a] for a in axes], [self.cuts[a] for a in axes]
        codes = [[of[a, at] for a in axes] for of, at in zip(self.codes, rows)]
        self._settle(axes, cuts, [axis.top for axis in on], rows, codes, on)

    def check_box(self, axes, ranges):
        """Settle an open cell, positions low … high on each axis, by the cuts given for it."""
        on = [self.rules.axes[a] for a in axes]
        cuts = self.boxes.get((self.label, axes, ranges))
        if cuts is None or max(map(len, cuts)) < 2:
            said = " and ".join(x.say(*of) for x, of in zip(on, ranges))
            raise Rejected(f"not settled, class no. {self.label}: {said}.")
        cuts = [check_cuts(s, *of) for s, of in zip(cuts, ranges, strict=True)]
        rows = np.flatnonzero(np.all([x.covers(low) for x, (low, _) in zip(on, ranges)], axis=0))
        ends = [high for _, high in ranges]
        codes = [
            [x.code(*cut, gains[rows], rows) for x, *cut in zip(on, cuts, ends)]
            for gains, _ in self.sums
        ]
        self._settle(axes, cuts, ends, [rows] * len(codes), codes)

    def _settle(self, axes, cuts, ends, rows, codes, on=None):
        """Count the cells between the cuts. For each sum: rows, and their codes on each axis."""
        shape, alive = [len(starts) + 1 for starts in cuts], True  # code 0 is in no cell
        if prod(shape) > MOST_CELLS:
            raise Rejected(f"a count has more than {MOST_CELLS:,} cells.")
        for (gains, most), at, of in zip(self.sums, rows, codes):
            cells = np.ravel_multi_index(of, shape) if shape else np.zeros(len(at), int)
            table = add_up(cells, gains[at], prod(shape))
            table = table.reshape(shape)[(slice(1, None),) * len(shape)]
            for dim in range(len(shape)):
                table = suffix_sums(table, dim) if on is None else on[dim].fold(table, dim)
            alive = alive & (table > most)
        self.n_cells += alive.size
        for cell in np.argwhere(alive).tolist():
            self.check_box(axes, tuple(map(interval, cuts, ends, cell)))


def sums_of(problem, units, wrong):
    """The gains of rows, and pairs (gains, most): a rule within the limits exceeds each most."""
    price, share = Fraction(problem["w"]), Fraction(problem["limits"]["min_precision"])
    gains = units * np.where(wrong, price.denominator - price.numerator, price.denominator)
    kept = units * np.where(wrong, -share.numerator, share.denominator - share.numerator)
    within = [(units, problem["limits"]["min_covered"] - 1)] + [(kept, -1)] * bool(share)
    for name, count in (("max_errors", units * wrong), ("max_covered", units)):
        if problem["limits"][name] is not None:
            within.append((-count, -problem["limits"][name] - 1))
    return gains, within


def check_rule(claim, problem, rules, target, units):
    """Whether the problem allows the rule, and whether it does on the rows what is claimed."""
    names = {(axis.column.name, axis.op): a for a, axis in enumerate(rules.axes)}
    axes, covered = [], np.ones(len(units), bool)
    for of in claim["rule"]["conditions"]:
        axes.append(names[of["feature"], of["op"]])
        covered &= rules.axes[axes[-1]].covers(rules.axes[axes[-1]].position(of["value"]))
    wrong = target.codes != target.values.index(claim["rule"]["label"])
    gains, limits = sums_of(problem, units, wrong)
    allowed = rules.complete(axes) and problem["label"] in (None, claim["rule"]["label"])
    if not allowed or any(rules.clash(a, b) for a, b in combinations(sorted(axes), 2)):
        raise Rejected("the problem does not allow the rule.")
    if any(sums[covered].sum() <= most for sums, most in limits):
        raise Rejected("the rule breaks a limit of the problem.")
    for name, rows in (("covered", units), ("errors", units * wrong), ("value", gains)):
        if rows[covered].sum() != claim[name]:
            raise Rejected(f"{name!r} of the rule is {rows[covered].sum()}, not {claim[name]}.")


def verify(certificate, cells, weights=None):
    """Check a certificate: what is verified, in one sentence, or `Rejected`.

    `cells` maps the name of each column, the target's too, to its cells (None or NaN: missing).
    """
    try:
        return _verify(certificate, cells, weights)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Rejected(f"the certificate does not fit: {type(error).__name__} {error}") from error


def _verify(certificate, cells, weights):
    if (certificate["format"], certificate["version"]) != ("opdt certificate", VERSION):
        raise Rejected(f"this is no certificate of version {VERSION}.")
    problem, claim, argument = (certificate[name] for name in ("problem", "claim", "argument"))
    columns = [RawColumn(of["name"], of["kind"], cells[of["name"]]) for of in problem["features"]]
    target = RawColumn(problem["target"], "level", cells[problem["target"]])
    scaled = [
        Fraction(str(w)) * problem["weight_scale"] for w in ([1] if weights is None else weights)
    ]
    if any(weight.denominator > 1 or weight < 0 for weight in scaled):
        raise Rejected("row weights are no multiples of the unit that the certificate names.")
    units = np.resize(np.array([int(weight) for weight in scaled], np.int64), len(target.codes))
    if fingerprint(columns, target, units) != certificate["fingerprint"]:
        raise Rejected("the data are not those of the certificate: the fingerprint differs.")
    rules, bound, n_cells = AllowedRules(problem, columns), claim["bound"], 0
    cuts = {(c["label"], c["axis"]): c["starts"] for c in argument["cuts"]}
    boxes = {
        (b["label"], tuple(b["axes"]), tuple(map(tuple, b["ranges"]))): b["cuts"]
        for b in argument["boxes"]
    }
    wanted = target.values if problem["label"] is None else [problem["label"]]
    for label in map(target.values.index, wanted):
        sums = sums_of(problem, units, target.codes != label)
        checked = Argument(rules, label, *sums, bound, cuts, boxes)
        checked.check((), [np.arange(len(units))] * len(checked.sums))
        n_cells += checked.n_cells
    if claim["rule"] is not None:
        check_rule(claim, problem, rules, target, units)
    unit = Fraction(1, Fraction(problem["w"]).denominator * problem["weight_scale"])
    said = "keeps the limits" if bound is None else f"has a VI above {float(bound * unit):g}"
    return f"verified: no allowed rule {said} ({n_cells:,} cells of rules were counted)"


def read_certificate(path):
    """The certificate in a file of compressed JSON."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except Exception as error:  # whatever is wrong with the file
        raise Rejected(f"{path} cannot be read as a certificate: {error}") from error


def read_cells(path, certificate):
    """The columns of a CSV file that the certificate speaks of."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        head = file.readline()
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=max(",;\t|", key=head.count)))
    cells = {name: [row[name] for row in rows] for name in rows[0]}
    for of in certificate["problem"]["features"]:
        if of["cleaned"]:
            raise Rejected(f"column {of['name']!r} was cleaned first: use `opdt verify`.")
        read = {"number": int if of["whole"] else float, "date": np.datetime64, "level": str}
        kept, gaps = read[of["kind"]], ("", *of["missing"])
        cells[of["name"]] = [None if c in gaps else kept(c) for c in cells[of["name"]]]
    return cells


def main():
    """`opdt-verify rule.cert data.csv`: ends with 0 if verified, with 1 if not."""
    if len(sys.argv) != 3:
        sys.exit("usage: opdt-verify rule.cert data.csv")
    try:
        certificate = read_certificate(sys.argv[1])
        print(verify(certificate, read_cells(sys.argv[2], certificate)))
    except (Rejected, OSError, LookupError, ValueError, TypeError) as error:
        sys.exit(f"not verified: {error}")


if __name__ == "__main__":
    main()
