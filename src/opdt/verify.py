"""Check a certificate of opdt: one file, NumPy only, nothing imported from opdt.

A certificate claims that no allowed rule is worth more than a bound. All of it is counted again:

* A rule is a set of conditions and a class, worth the sum of the *gains* of the rows it covers.
* An *axis* is a feature with an operator; its *positions* 1, 2, … are its conditions. On a
  threshold axis, position j covers the rows whose *level* is at least j: the larger j, the fewer.
* Rules of one class on the same axes form a box of positions. Threshold axes are cut into
  intervals, and so the box into *cells*. In the cell of the intervals first … last, a rule covers
  no row below a `first` and all rows that reach every `last`. So it gains at most the gains > 0
  of rows that reach every `first`, and the gains < 0 of rows that reach every `last`.
* A cell is settled if that is within the bound, or if by the same sums its rules break a limit.
  Every other cell must be cut again by a box of the certificate, down to single rules.

Which axes may stand together follows from the structure, and the cuts of an axis must hold all of
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
        known = (cells == cells) & (cells != None)  # noqa: E711 (of each cell)
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
    parts = [*(column.codes for column in (*columns, target)), units]
    for at in range(0, len(units), 1 << 16):  # a row: its codes, its class, its weight
        some = np.column_stack([part[at : at + (1 << 16)] for part in parts])
        rows += [hashlib.sha256(row).digest() for row in some.astype("<i8")]
    whole.update(b"".join(sorted(rows)))
    return whole.hexdigest()


class PositionAxis:
    """A feature with an operator. `levels`: the level of each row, 0 if no position covers it."""

    def __init__(self, feature, op, column, held):
        self.feature, self.op, self.column = feature, op, column
        codes, n = column.codes, len(column.values)
        self.is_threshold, self.levels, self.width = op in (">=", "<"), codes + 1, n
        self.choices = column.values  # what the positions compare with
        if self.is_threshold:
            self.levels = np.where(codes < 0, 0, codes if op == ">=" else n - 1 - codes)
            self.choices = range(1, n)
        elif op == "in":
            sizes = range(2, min(len(held), n - 2) + 1)
            self.choices = [some for size in sizes for some in combinations(sorted(held), size)]
            self.holds = np.array(
                [[v in some for v in column.values] for some in self.choices], int
            )
        elif op in ("is missing", "is present"):
            self.levels = ((codes < 0) == (op == "is missing")).astype(int)
            self.choices, self.width = [None], 1
        self.top = len(self.choices)

    def fold(self, table, dim):
        """Turn sums over the rows of each level into sums over the rows of each position."""
        if self.is_threshold:  # sums from each level to the last
            back = (slice(None),) * dim + (slice(None, None, -1),)
            return table[back].cumsum(dim)[back]
        if self.op == "in":
            return np.moveaxis(np.tensordot(self.holds, table, (1, dim)), 0, dim)
        return table.sum(dim, keepdims=True) - table if self.op == "!=" else table

    def code(self, starts, end, gains, rows):
        """How many intervals, from the loosest on, may (gain > 0) or must (gain < 0) cover rows."""
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
        if not self.is_threshold:
            return 1 + self.choices.index(tuple(value) if self.op == "in" else value)
        if self.column.kind == "date":
            value = np.datetime64(value, "us").astype(int)
        code = bisect_left(self.column.values, value)
        return 1 + self.choices.index(code if self.op == ">=" else len(self.column.values) - code)


class AllowedRules:
    """What the problem allows: its axes, and which of them may stand together."""

    def __init__(self, problem, columns):
        self.required, self.once = set(problem["required"]), problem["once"]
        chains, self.axes, self.types, self._known = _chains(problem, columns), [], [], {}
        for feature, column in enumerate(columns):
            held = problem["subsets"].get(str(feature), ())
            for op in _operators(feature, column, problem):
                axis = PositionAxis(feature, op, column, held)
                fits = tuple(tuple(feature in of and op in ops for of, ops, _ in c) for c in chains)
                if axis.top > 0 and any(map(any, fits)):
                    self.axes.append(axis)
                    self.types.append(fits)
        self.idle = [[idle for _, _, idle in chain] for chain in chains]
        self.depth = max(map(len, chains))

    def complete(self, axes):
        """Whether rules may be made of exactly these axes: each takes a node of one path, and any
        other node is idle or repeats one of their conditions.
        """
        types = tuple(sorted(self.types[a] for a in axes))
        if types not in self._known:
            self._known[types] = any(
                all(of[c][d] for of, d in zip(types, taken))
                and all(may or any(of[c][d] for of in types) for d, may in enumerate(idle))
                for c, idle in enumerate(self.idle)
                for taken in permutations(range(len(idle)), len(types))
            )
        return self._known[types] and self.required <= {self.axes[a].feature for a in axes}

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
        """Settle the rules whose first axes are these; `rows` they may cover, for each sum."""
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
        codes = [[of[a, at] for a in axes] for of, at in zip(self.codes, rows)]
        tops = [self.rules.axes[a].top for a in axes]
        self._settle(axes, [self.cuts[a] for a in axes], tops, rows, codes)

    def check_box(self, axes, ranges):
        """Settle an open cell, positions low … high on each axis, by the cuts given for it."""
        on, ends = [self.rules.axes[a] for a in axes], [end for _, end in ranges]
        cuts = self.boxes.get((self.label, axes, ranges))
        if cuts is None or max(map(len, cuts)) < 2:
            said = ", ".join(f"{x.column.name!r} {x.op} {of}" for x, of in zip(on, ranges))
            raise Rejected(f"not settled: class no. {self.label}, positions {said}.")
        cuts = [check_cuts(s, *of) for s, of in zip(cuts, ranges, strict=True)]
        rows = np.flatnonzero(np.all([x.covers(low) for x, (low, _) in zip(on, ranges)], axis=0))
        of_axes = list(zip(on, cuts, ends))
        codes = [[x.code(s, end, g[rows], rows) for x, s, end in of_axes] for g, _ in self.sums]
        self._settle(axes, cuts, ends, [rows] * len(codes), codes)

    def _settle(self, axes, cuts, ends, rows, codes):
        """Count the cells between the cuts. For each sum: rows, and their codes on each axis."""
        shape, alive = [len(starts) + 1 for starts in cuts], True  # code 0 is in no cell
        if prod(shape) > MOST_CELLS:
            raise Rejected(f"a count has more than {MOST_CELLS:,} cells.")
        for (gains, most), at, of in zip(self.sums, rows, codes):
            cells = np.ravel_multi_index(of, shape) if shape else np.zeros(len(at), int)
            table = np.bincount(cells, gains[at], prod(shape)).astype(np.int64)  # exact: < 2**52
            table = table.reshape(shape)[(slice(1, None),) * len(shape)]
            for dim, a in enumerate(axes):
                if len(cuts[dim]) > 1:
                    table = self.rules.axes[a].fold(table, dim)
            alive = alive & (table > most)
        self.n_cells += alive.size
        bounds = [np.append(starts, end + 1).tolist() for starts, end in zip(cuts, ends)]
        for cell in np.argwhere(alive).tolist():
            self.check_box(axes, tuple((s[at], s[at + 1] - 1) for s, at in zip(bounds, cell)))


def sums_of(problem, units, wrong):
    """The gains of rows, and pairs (gains, most): a rule within the limits exceeds each most."""
    price, limits = Fraction(problem["w"]), problem["limits"]
    share, least = Fraction(limits["min_precision"]), limits["min_covered"]
    given = [n for n in (least, limits["max_errors"], limits["max_covered"]) if n is not None]
    largest = int(units.max(initial=1)) * len(units) * max(price.numerator, share.denominator)
    if not all(type(n) is int for n in given) or not 0 <= share <= 1 <= price or largest >= 2**52:
        raise Rejected("'w' or a limit is no such number, or too large to be counted.")
    gains = units * np.where(wrong, price.denominator - price.numerator, price.denominator)
    kept = units * np.where(wrong, -share.numerator, share.denominator - share.numerator)
    within = [(units, least - 1)] + [(kept, -1)] * bool(share)
    for name, count in (("max_errors", units * wrong), ("max_covered", units)):
        if limits[name] is not None:
            within.append((-count, -limits[name] - 1))
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
    clash = any(rules.clash(a, b) for a, b in combinations(sorted(axes), 2))
    if not allowed or clash or any(sums[covered].sum() <= most for sums, most in limits):
        raise Rejected("the problem does not allow the rule.")
    for name, rows in (("covered", units), ("errors", units * wrong), ("value", gains)):
        if rows[covered].sum() != claim[name]:
            raise Rejected(f"{name!r} of the rule is {rows[covered].sum()}, not {claim[name]}.")


def verify(certificate, cells, units=None):
    """Say what is verified, or raise `Rejected`. `cells`: column name to cells, the target's too
    (None or NaN: missing); `units`: row weights in the certificate's unit.
    """
    try:
        return _verify(certificate, cells, units)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as e:
        raise Rejected(f"the certificate does not fit: {type(e).__name__} {e}") from e


def _verify(certificate, cells, units):
    problem, claim, argument = (certificate[name] for name in ("problem", "claim", "argument"))
    named = (certificate["format"], certificate["version"]) == ("opdt certificate", VERSION)
    if not named or type(claim["bound"]) not in (int, type(None)):
        raise Rejected(f"this is no certificate of version {VERSION} with a whole bound.")
    columns = [RawColumn(of["name"], of["kind"], cells[of["name"]]) for of in problem["features"]]
    target = RawColumn("", "level", cells[problem["target"]])  # it may be renamed
    units = np.array([1] * len(target.codes) if units is None else units, np.int64)
    if (units < 0).any() or fingerprint(columns, target, units) != certificate["fingerprint"]:
        raise Rejected("the data are not those of the certificate: the fingerprint differs.")
    rules, bound, n_cells = AllowedRules(problem, columns), claim["bound"], 0
    cuts = {(of["label"], of["axis"]): of["starts"] for of in argument["cuts"]}
    boxes = {}
    for of in argument["boxes"]:
        boxes[of["label"], tuple(of["axes"]), tuple(map(tuple, of["ranges"]))] = of["cuts"]
    for label in target.values if problem["label"] is None else [problem["label"]]:
        code = target.values.index(label)
        sums = sums_of(problem, units, target.codes != code)
        checked = Argument(rules, code, *sums, bound, cuts, boxes)
        checked.check((), [np.arange(len(units))] * len(checked.sums))
        n_cells += checked.n_cells
    if claim["rule"] is not None:
        check_rule(claim, problem, rules, target, units)
    price, every = Fraction(problem["w"]), {**problem, **problem["limits"]}
    shown = float(bound or 0) / price.denominator / problem["weight_scale"]
    if problem["objective"] == "precision" and bound == 0:
        shown = float(1 - 1 / price)  # at this price, a rule of more precision has a VI above 0
    said = "keeps the limits" if bound is None else f"has a {problem['objective']} above {shown:g}"
    asked = f"at most {rules.depth} conditions on {len(columns)} features, w = {price}"
    names = ("required", "forbidden", "directions", "once", "min_precision", "max_errors")
    for name in (*names, "min_covered", "max_covered", "subsets", "missing_conditions"):
        common = str(every[name]) in ("[]", "{}", "0", "1", "None", "False")
        asked += "" if common else f", {name}: {every[name]}"
    return f"verified: no allowed rule {said} ({asked}; {n_cells:,} cells were counted)"


def read_cells(path, features):
    """The columns of a CSV file, features as numbers, dates or text."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        mark = max(",;\t|", key=file.readline().count)
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=mark))
    cells = {name: [row[name] for row in rows] for name in rows[0]}
    for of in features:
        if set(of["cleaning"]) - {"missing", "form"}:
            raise Rejected(f"column {of['name']!r} was cleaned first: use `opdt verify`.")
        number, gaps = int if of["whole"] else float, ["", *of["cleaning"].get("missing", ())]
        read = {"number": number, "date": np.datetime64, "level": str}[of["kind"]]
        cells[of["name"]] = [None if c in gaps else read(c) for c in cells[of["name"]]]
    return cells


def main():
    """`opdt-verify rule.cert data.csv`: ends with 0 if verified, with 1 if not."""
    if len(sys.argv) != 3:
        sys.exit("usage: opdt-verify rule.cert data.csv")
    try:
        with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
            certificate = json.load(file)
        print(verify(certificate, read_cells(sys.argv[2], certificate["problem"]["features"])))
    except Exception as error:  # whatever is wrong with a file, nothing is verified
        sys.exit(f"not verified: {error if isinstance(error, Rejected) else repr(error)}")


if __name__ == "__main__":
    main()
