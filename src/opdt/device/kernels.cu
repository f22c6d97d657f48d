// The search's passes over the rows of a table that lies on a CUDA device.
//
// Compiled at run time, once for each kind of codes and cells:
//   CODE   unsigned type of a code; its largest value means that the cell is missing
//   CELL   unsigned type of a count: 32 bits where the weights of all rows add up to less than 2^31
//
// Rows are sorted by class, and the rows of each class are filled up to a multiple of 16 (`PAD`). Rows
// that only fill up have the bin 255 on every axis and weight 0 everywhere. Sums are whole numbers, so
// their order does not matter. Each kernel has a twin in opdt.device.host_passes, which tests compare
// with it cell by cell.

typedef unsigned char Bin;
typedef long long Whole;

#define NOWHERE 255

// Bins of one column of codes.
//   codes (n_rows,); edges (n_bins,) the largest code of each bin; out (n_rows,)
// A code gets the first bin whose edge is not below it; a missing one gets the bin n_bins.
extern "C" __global__ void bins_by_edges(const CODE* codes, Whole n_rows, const unsigned* edges, int n_bins, Bin* out) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < n_bins; i += blockDim.x) own[i] = edges[i];
  __syncthreads();
  const CODE missing = (CODE)~(CODE)0;
  for (Whole i = (Whole)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += (Whole)gridDim.x * blockDim.x) {
    const CODE code = codes[i];
    int first = 0, last = n_bins - 1;
    while (first < last) {
      const int middle = (first + last) / 2;
      if (own[middle] < code) first = middle + 1; else last = middle;
    }
    out[i] = code == missing ? n_bins : first;
  }
}

// The same where the levels of a category have a table: look_up (n_levels + 1,), the last entry for missing ones.
extern "C" __global__ void bins_by_table(const CODE* codes, Whole n_rows, const Bin* look_up, int n_levels, Bin* out) {
  const CODE missing = (CODE)~(CODE)0;
  for (Whole i = (Whole)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += (Whole)gridDim.x * blockDim.x) {
    const CODE code = codes[i];
    out[i] = look_up[code == missing ? n_levels : code];
  }
}

// Counts of the cells of many sets of axes.
//   bins      bins[a * pitch + i] is the bin of row i on axis a
//   sets      (n_sets, K) axes; extents (n_sets, K) their bins, that of missing values included
//   starts    (n_sets,) where the cells of a set begin in `out`: groups one after the other, the first axis fastest
//   segments  (n_segments, 3) first row, end and group of the rows of a class
//   weights   (n_rows,) or null where every row counts one
//   copies    a power of two: of few cells each has so many copies in shared memory, so that threads seldom meet; 0 where
//             cells do not fit there and are counted in `out`
// One block counts one set (x) in one tile of rows (y) of one segment (z) in shared memory and adds it to `out`;
// tiles are the slower index, so that the bins of a tile are read from cache by all sets.
template <int K>
__device__ void count(const Bin* bins, Whole pitch, const int* sets, const int* extents, const Whole* starts,
                      const Whole* segments, Whole tile, const Whole* weights, int copies, CELL* out) {
  extern __shared__ unsigned char memory[];
  CELL* cells = (CELL*)memory;
  const int s = blockIdx.x;
  const Whole* segment = segments + 3 * blockIdx.z;
  const Whole begin = segment[0] + (Whole)blockIdx.y * tile;
  const Whole end = min(segment[1], begin + tile);
  if (begin >= end) return;
  const Bin* axis[K];
  int stride[K];
  int n_cells = 1;
  for (int d = 0; d < K; ++d) {
    axis[d] = bins + (Whole)sets[s * K + d] * pitch;
    stride[d] = n_cells;
    n_cells *= extents[s * K + d];
  }
  CELL* total = out + starts[s] + segment[2] * n_cells;
  const int each = max(1, copies), own = threadIdx.x & (each - 1);
  if (copies) {
    for (int c = threadIdx.x; c < n_cells * copies; c += blockDim.x) cells[c] = 0;
    __syncthreads();
  } else {
    cells = total;
  }
  for (Whole i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
    unsigned four[K];
    for (int d = 0; d < K; ++d) four[d] = *(const unsigned*)(axis[d] + i);
    for (int j = 0; j < 4; ++j) {
      if (((four[0] >> (8 * j)) & 255) == NOWHERE) continue;
      int cell = 0;
      for (int d = 0; d < K; ++d) cell += stride[d] * ((four[d] >> (8 * j)) & 255);
      atomicAdd(cells + cell * each + own, weights ? (CELL)weights[i + j] : (CELL)1);
    }
  }
  if (!copies) return;
  __syncthreads();
  for (int c = threadIdx.x; c < n_cells; c += blockDim.x) {
    CELL sum = 0;
    for (int copy = 0; copy < copies; ++copy) sum += cells[c * copies + copy];
    if (sum) atomicAdd(total + c, sum);
  }
}

#define COUNT(K)                                                                                               \
  extern "C" __global__ void count_##K(const Bin* bins, Whole pitch, const int* sets, const int* extents,      \
                                       const Whole* starts, const Whole* segments, Whole tile,                 \
                                       const Whole* weights, int copies, CELL* out) {                          \
    count<K>(bins, pitch, sets, extents, starts, segments, tile, weights, copies, out);                        \
  }
COUNT(1) COUNT(2) COUNT(3) COUNT(4) COUNT(5) COUNT(6) COUNT(7) COUNT(8)

// The most that a rule on each set of ordered axes can gain, whatever the directions of its conditions.
//   n_bins   (n_sets, K) bins of each axis without that of missing values
//   lone_at  (n_sets, K) where the lone bins of an axis begin in `lone`: those of one value
//   spare    room for two tables of `room` places for each block; null where they fit into shared memory
//   labels   (n_labels, 3): the group of its class, and what a unit of weight of it gains, and of another group loses
//   bounds   (n_sets, 2) the largest over all labels, directions and places; and the largest gain of a threshold
//            at the edge of a bin, which a rule has
// A threshold in bin p covers at most the bins from p on, and at least those behind p; in a lone bin it covers those
// behind it. With R and W the weights of right and of wrong rows that are covered, the gain is at most
// plus * R(at most) - minus * W(at least).
template <int K>
__device__ void bound(const CELL* cells, const int* extents, const int* n_bins, const Whole* lone_at,
                      const unsigned char* lone, const Whole* starts, int n_sets, int n_groups, const Whole* labels, int n_labels, Whole room, CELL* spare, Whole* bounds) {
  extern __shared__ unsigned char memory[];
  __shared__ Whole best, reached;
  CELL* right = spare ? spare + 2 * room * blockIdx.x : (CELL*)memory;
  CELL* wrong = right + room;
  for (int s = blockIdx.x; s < n_sets; s += gridDim.x) {
    int size[K], stride[K], step[K];
    int n_cells = 1, n_places = 1;
    for (int d = 0; d < K; ++d) {
      size[d] = n_bins[s * K + d];
      stride[d] = n_cells;
      n_cells *= extents[s * K + d];
      step[d] = n_places;
      n_places *= size[d];
    }
    if (threadIdx.x == 0) best = reached = -(1LL << 62);
    __syncthreads();
    const CELL* own = cells + starts[s];
    Whole most = -(1LL << 62), value = -(1LL << 62);
    for (int l = 0; n_places && l < n_labels; ++l) {
      const Whole group = labels[3 * l], plus = labels[3 * l + 1], minus = labels[3 * l + 2];
      for (int way = 0; way < (1 << K); ++way) {
        for (int p = threadIdx.x; p < n_places; p += blockDim.x) {
          int cell = 0, rest = p;
          for (int d = 0; d < K; ++d) {
            const int at = rest % size[d];
            rest /= size[d];
            cell += stride[d] * ((way >> d) & 1 ? size[d] - 1 - at : at);
          }
          CELL r = 0, w = 0;
          for (int g = 0; g < n_groups; ++g) {
            const CELL n = own[(Whole)g * n_cells + cell];
            if (g == group) r = n; else w += n;
          }
          right[p] = r;
          wrong[p] = w;
        }
        __syncthreads();
        for (int d = 0; d < K; ++d) {  // sums over all places behind, one axis after the other
          const int n_lines = n_places / size[d];
          for (int line = threadIdx.x; line < n_lines; line += blockDim.x) {
            const int first = line % step[d] + (line / step[d]) * step[d] * size[d];
            for (int at = size[d] - 2; at >= 0; --at) {
              const int p = first + at * step[d];
              right[p] += right[p + step[d]];
              wrong[p] += wrong[p + step[d]];
            }
          }
          __syncthreads();
        }
        for (int p = threadIdx.x; p < n_places; p += blockDim.x) {
          int loosest = p, behind = p, rest = p;
          bool some = true, exists = true;
          for (int d = 0; d < K; ++d) {
            const int at = rest % size[d];
            rest /= size[d];
            const bool last = at + 1 == size[d];
            const bool one = lone[lone_at[s * K + d] + ((way >> d) & 1 ? size[d] - 1 - at : at)];
            some = some && !last;
            exists = exists && !(one && last);
            if (one) loosest += step[d];
            behind += step[d];
          }
          if (exists) {  // where limits on rows have prices, a right row may lose and a wrong one gain
            const Whole r = plus >= 0 ? right[loosest] : some ? right[behind] : (CELL)0;
            const Whole w = minus < 0 ? wrong[loosest] : some ? wrong[behind] : (CELL)0;
            most = max(most, plus * r - minus * w);
          }
          value = max(value, plus * (Whole)right[p] - minus * (Whole)wrong[p]);
        }
        __syncthreads();
      }
    }
    atomicMax(&best, most);
    atomicMax(&reached, value);
    __syncthreads();
    if (threadIdx.x == 0) {
      bounds[2 * s] = best;
      bounds[2 * s + 1] = reached;
    }
    __syncthreads();
  }
}

#define BOUND(K)                                                                                               \
  extern "C" __global__ void bound_##K(const CELL* cells, const int* extents, const int* n_bins,               \
                                       const Whole* lone_at, const unsigned char* lone, const Whole* starts,   \
                                       int n_sets, int n_groups, const Whole* labels, int n_labels,            \
                                       Whole room, CELL* spare, Whole* bounds) {                               \
    bound<K>(cells, extents, n_bins, lone_at, lone, starts, n_sets, n_groups, labels, n_labels, room, spare,   \
             bounds);                                                                                          \
  }
BOUND(1) BOUND(2) BOUND(3) BOUND(4) BOUND(5) BOUND(6) BOUND(7) BOUND(8)

// What a row's level on a ray is: a position covers the row where level >= position.
//   op 0 `>=`: the code; 1 `<`: its negative; 2 `==`, 3 `!=`, 4 `in` (a table of truth values), 5 missing, 6 present
// A missing value has a level below all on rays of values.
struct Side {
  Whole column, low, high;  // place of the column among the codes; positions low < position <= high
  Whole op, code, table;    // the level, or where its table of truth values begins
  Whole size, stride;       // places of the side when the box is cut, and cells from one to the next
  Whole from, span;         // of a threshold: the codes from `from` to `from + span` have a level above `low`
};

__device__ Whole level_of(const CODE code, const Side& side, const unsigned char* tables) {
  const bool missing = code == (CODE)~(CODE)0;
  switch (side.op) {
    case 0: return missing ? -(1LL << 62) : (Whole)code;
    case 1: return missing ? -(1LL << 62) : -(Whole)code;
    case 2: return !missing && (Whole)code == side.code;
    case 3: return !missing && (Whole)code != side.code;
    case 4: return !missing && tables[side.table + code];
    case 5: return missing;
    default: return !missing;
  }
}

// Whether a row may be inside a box by its code on one side: one comparison where the side is a threshold.
__device__ bool is_inside(const CODE code, const Side& side, const unsigned char* tables) {
  if (side.op < 2) return side.span >= 0 && (CODE)(code - (CODE)side.from) <= (CODE)side.span;
  return level_of(code, side, tables) > side.low;
}

__device__ int class_of(const Whole* segments, int n_segments, Whole i) {
  int first = 0, last = n_segments - 1;
  while (first < last) {
    const int middle = (first + last + 1) / 2;
    if (segments[3 * middle] <= i) first = middle; else last = middle - 1;
  }
  return first;
}

// The place of a level on a side that is cut into `size` places: each position has one of its own where there are
// as many places as positions; else the highest position has one, and the others are dealt evenly, so that place t
// holds the levels above edge t up to edge t + 1 with edge t = low + (high - 1 - low) * t / (size - 1).
__device__ Whole place_of(Whole level, const Side& side) {
  if (level >= side.high) return side.size - 1;
  const Whole step = level - side.low;
  if (side.size == side.high - side.low) return step - 1;
  return (step * (side.size - 1) - 1) / (side.high - 1 - side.low);
}

// The rows that lie inside some boxes as far as one side of each tells: a *gate*.
//   gates (n_gates,) sides; a column of -1 stands for all rows
//   counts (n_gates,) how many there are; starts (n_gates,) where those of a gate begin in `rows`, or null while they
//   are counted. One block has one gate (x) and a part of the rows (y). The order of the rows is any.
extern "C" __global__ void pass_gates(const CODE* codes, Whole pitch, const Side* gates, const unsigned char* tables,
                                      Whole n_rows, const Whole* starts, unsigned long long* counts, unsigned* rows) {
  const Side& gate = gates[blockIdx.x];
  const CODE* column = codes + (gate.column < 0 ? 0 : gate.column) * pitch;
  unsigned long long own = 0;
  for (Whole i = (Whole)blockIdx.y * blockDim.x + threadIdx.x; i < n_rows; i += (Whole)gridDim.y * blockDim.x) {
    if (gate.column >= 0 && !is_inside(column[i], gate, tables)) continue;
    if (rows) rows[starts[blockIdx.x] + atomicAdd(counts + blockIdx.x, 1ULL)] = (unsigned)i;
    else ++own;
  }
  if (own) atomicAdd(counts + blockIdx.x, own);
}

// Mass, loss and rows of the finer cells of boxes; one block has one box (x) and a part of the rows of its gate (y).
//   sides (n_boxes, depth); n_sides (n_boxes,); spans (n_boxes, 2) first row and end of its gate in `near`
//   factors (n_boxes, n_classes) the value of a unit of weight; first_cell (n_boxes + 1,) where the cells of a box begin
//   room  the number of cells that a block has room for in its own memory
//   real (n_segments,) the end of the rows of a class that are rows
extern "C" __global__ void sift(const CODE* codes, Whole pitch, const Side* sides, const int* n_sides, int depth,
                                const unsigned char* tables, const Whole* spans, const unsigned* near,
                                const Whole* factors, const Whole* first_cell, const Whole* segments, const Whole* real,
                                int n_segments, const Whole* weights, Whole room, unsigned long long* mass,
                                unsigned long long* loss, unsigned long long* rows) {
  extern __shared__ unsigned char memory[];
  const int b = blockIdx.x;
  const Side* own = sides + (Whole)b * depth;
  const Whole n_cells = first_cell[b + 1] - first_cell[b];
  unsigned long long *m = mass + first_cell[b], *l = loss + first_cell[b], *n = rows + first_cell[b];
  const bool in_shared = n_cells <= room;
  if (in_shared) {
    m = (unsigned long long*)memory;
    l = m + n_cells;
    n = l + n_cells;
    for (Whole c = threadIdx.x; c < 3 * n_cells; c += blockDim.x) m[c] = 0;
    __syncthreads();
  }
  const Whole step = (Whole)gridDim.y * blockDim.x;
  for (Whole at = spans[2 * b] + (Whole)blockIdx.y * blockDim.x + threadIdx.x; at < spans[2 * b + 1]; at += step) {
    const Whole i = near[at];
    Whole cell = 0;
    bool inside = true;
    for (int d = 0; inside && d < n_sides[b]; ++d) {
      const CODE code = codes[own[d].column * pitch + i];
      inside = is_inside(code, own[d], tables);
      if (inside) cell += place_of(level_of(code, own[d], tables), own[d]) * own[d].stride;
    }
    if (!inside) continue;
    const int c = class_of(segments, n_segments, i);
    if (i >= real[c]) continue;
    const Whole gain = factors[(Whole)b * n_segments + c] * (weights ? weights[i] : 1);
    if (gain > 0) atomicAdd(m + cell, (unsigned long long)gain);
    else if (gain < 0) atomicAdd(l + cell, (unsigned long long)(-gain));
    atomicAdd(n + cell, 1ULL);
  }
  if (!in_shared) return;
  __syncthreads();
  for (Whole c = threadIdx.x; c < n_cells; c += blockDim.x) {
    if (!n[c]) continue;
    if (m[c]) atomicAdd(mass + first_cell[b] + c, m[c]);
    if (l[c]) atomicAdd(loss + first_cell[b] + c, l[c]);
    atomicAdd(rows + first_cell[b] + c, n[c]);
  }
}

// The rows that a box covers at some positions only, and the weight by class of those that it always covers.
//   always (n_boxes, n_classes); picked (n_picked,) pairs of box and row, `room` of them; number (1,) how many there are
extern "C" __global__ void pick(const CODE* codes, Whole pitch, const Side* sides, const int* n_sides, int depth,
                                const unsigned char* tables, const Whole* spans, const unsigned* near,
                                const Whole* segments, const Whole* real, int n_segments, const Whole* weights,
                                unsigned long long* always, Whole room, Whole* picked, unsigned long long* number) {
  extern __shared__ unsigned char memory[];
  unsigned long long* sums = (unsigned long long*)memory;
  const int b = blockIdx.x;
  const Side* own = sides + (Whole)b * depth;
  for (int c = threadIdx.x; c < n_segments; c += blockDim.x) sums[c] = 0;
  __syncthreads();
  const Whole step = (Whole)gridDim.y * blockDim.x;
  for (Whole at = spans[2 * b] + (Whole)blockIdx.y * blockDim.x + threadIdx.x; at < spans[2 * b + 1]; at += step) {
    const Whole i = near[at];
    bool inside = true, whole = true;
    for (int d = 0; inside && d < n_sides[b]; ++d) {
      const CODE code = codes[own[d].column * pitch + i];
      inside = is_inside(code, own[d], tables);
      whole = whole && inside && level_of(code, own[d], tables) >= own[d].high;
    }
    if (!inside) continue;
    const int c = class_of(segments, n_segments, i);
    const Whole weight = i >= real[c] ? 0 : (weights ? weights[i] : 1);
    if (!weight) continue;
    if (whole) {
      atomicAdd(sums + c, (unsigned long long)weight);
    } else {
      const unsigned long long place = atomicAdd(number, 1ULL);
      if (place < room) { picked[2 * place] = b; picked[2 * place + 1] = i; }
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < n_segments; c += blockDim.x)
    if (sums[c]) atomicAdd(always + (Whole)b * n_segments + c, sums[c]);
}

// -- what is left of a table of cells ------------------------------------------------------------------------------

#define MOST_SIDES 8
#define DENSE 8      // a part is split while it has so many times more cells than are alive
#define STACK 192    // parts that wait to be split: more than the steps of all sides halved again and again

// A table of the cells of a box, or of a set of axes. A position in place t of a side covers the places behind t, and
// t at most. Of a box, the one position of a lone place covers it, and so does the tightest one, in the last place. Of
// a set of axes (`open`), places begin behind the first value of their bin: the one position of a lone place covers
// the places behind it alone, and behind the last place there is nothing.
struct Cells {
  Whole *mass, *loss, *rows;  // (n_cells,) first those of each cell, then of all cells at least as tight
  int n_sides, n_cells;
  int size[MOST_SIDES], stride[MOST_SIDES];
  const unsigned char* lone[MOST_SIDES];  // (size,) which places are lone, or null where `all_lone` says it
  bool all_lone[MOST_SIDES], turned[MOST_SIDES];
  bool open;
};

__device__ bool is_lone(const Cells& cells, int d, int at) {
  if (!cells.lone[d]) return cells.all_lone[d];
  return cells.lone[d][cells.turned[d] ? cells.size[d] - 1 - at : at];
}

// The tightest cell that a position in a cell need cover; -1 where it need cover none.
__device__ int tightest(const Cells& cells, int cell) {
  int out = cell;
  for (int d = 0; d < cells.n_sides; ++d) {
    const int at = (cell / cells.stride[d]) % cells.size[d];
    if (cells.open) {
      if (at + 1 == cells.size[d]) return -1;
      out += cells.stride[d];
    } else if (at + 1 < cells.size[d] && !is_lone(cells, d, at)) {
      out += cells.stride[d];
    }
  }
  return out;
}

// What no position in a cell gains more than; the smallest number where there is no position.
__device__ Whole bound_of(const Cells& cells, int cell) {
  int loosest = cell;
  for (int d = 0; cells.open && d < cells.n_sides; ++d) {
    const int at = (cell / cells.stride[d]) % cells.size[d];
    if (!is_lone(cells, d, at)) continue;
    if (at + 1 == cells.size[d]) return -(1LL << 62);
    loosest += cells.stride[d];
  }
  const int tight = tightest(cells, cell);
  return cells.mass[loosest] - (tight < 0 ? 0 : cells.loss[tight]);
}

// Sums over all cells at least as tight, by all threads of a block.
__device__ void sum_tighter(const Cells& cells) {
  for (int d = 0; d < cells.n_sides; ++d) {
    const int step = cells.stride[d], n_lines = cells.n_cells / cells.size[d];
    for (int line = threadIdx.x; line < n_lines; line += blockDim.x) {
      const int first = line % step + (line / step) * step * cells.size[d];
      for (int at = cells.size[d] - 2; at >= 0; --at) {
        const int p = first + at * step;
        cells.mass[p] += cells.mass[p + step];
        cells.loss[p] += cells.loss[p + step];
        cells.rows[p] += cells.rows[p + step];
      }
    }
    __syncthreads();
  }
}

// Where the parts of tables go: out (room, 3 + 2 depth) owner, bound, undecided rows, first and last places.
struct PartList { Whole* out; Whole room; int depth; unsigned long long* number; };

__device__ void put(const Cells& cells, const PartList& parts, Whole owner, Whole bound, const int* first,
                    const int* last) {
  const unsigned long long place = atomicAdd(parts.number, 1ULL);
  if (place >= (unsigned long long)parts.room) return;
  int inside = 0, end = 0;
  Whole* own = parts.out + place * (3 + 2 * parts.depth);
  for (int d = 0; d < parts.depth; ++d) {
    const bool is_side = d < cells.n_sides;
    own[3 + d] = is_side ? first[d] : 0;
    own[3 + parts.depth + d] = is_side ? last[d] : 0;
    if (is_side) { inside += first[d] * cells.stride[d]; end += last[d] * cells.stride[d]; }
  }
  own[0] = owner;
  own[1] = bound;
  const int tight = tightest(cells, end);
  own[2] = cells.rows[inside] - (tight < 0 ? 0 : cells.rows[tight]);
}

// One part, or its two halves where it is most of the table, so that parts do shrink.
__device__ void put_part(const Cells& cells, const PartList& parts, Whole owner, Whole bound, const int* first,
                         const int* last) {
  bool shrinks = false;
  int side = 0;
  for (int d = 0; d < cells.n_sides; ++d) {
    shrinks = shrinks || (cells.size[d] > 1 && 2 * (last[d] - first[d] + 1) <= cells.size[d]);
    if (last[d] - first[d] > last[side] - first[side]) side = d;
  }
  if (shrinks || last[side] == first[side]) { put(cells, parts, owner, bound, first, last); return; }
  int middle[MOST_SIDES];
  const int cut = (first[side] + last[side] + 1) / 2;
  for (int d = 0; d < cells.n_sides; ++d) middle[d] = d == side ? cut - 1 : last[d];
  put(cells, parts, owner, bound, first, middle);
  for (int d = 0; d < cells.n_sides; ++d) middle[d] = d == side ? cut : first[d];
  put(cells, parts, owner, bound, middle, last);
}

// The cells of a table that may gain the goal, put together to few parts that hold all of them and not many others.
//   summed  whether the sums are those of tighter cells already; alive, other (`most`,) room for cells
//   reached, corner  the largest exact gain and the first cell that has it; null where they are not asked for
// All threads of a block work on one table. Parts depend on the set of the cells alone, not on their order.
__device__ void part_cells(const Cells& cells, bool summed, Whole goal, int most, int* alive, int* other,
                           const PartList& parts, Whole owner, Whole* reached, Whole* corner) {
  __shared__ int stack[STACK][2];
  __shared__ int low[MOST_SIDES], high[MOST_SIDES], found, left, right, height;
  __shared__ Whole top, best, where;
  if (!summed) sum_tighter(cells);
  if (threadIdx.x == 0) { found = 0; top = best = -(1LL << 62); where = cells.n_cells; }
  __syncthreads();
  Whole own = -(1LL << 62);
  for (int c = threadIdx.x; c < cells.n_cells; c += blockDim.x) {
    own = max(own, cells.mass[c] - cells.loss[c]);
    if (cells.mass[c] < goal) continue;
    const Whole bound = bound_of(cells, c);
    if (bound < goal || bound == -(1LL << 62)) continue;
    atomicMax(&top, bound);
    const int at = atomicAdd(&found, 1);
    if (at < most) alive[at] = c;
  }
  atomicMax(&best, own);
  __syncthreads();
  if (reached) {  // the first cell of the best gain
    for (int c = threadIdx.x; c < cells.n_cells; c += blockDim.x)
      if (cells.mass[c] - cells.loss[c] == best) { atomicMin(&where, (Whole)c); break; }
    __syncthreads();
    if (threadIdx.x == 0) { *reached = best; *corner = where; }
  }
  if (found == 0) return;
  if (found > most) {  // too many to be told apart: the halves of the whole
    if (threadIdx.x == 0) {
      for (int d = 0; d < cells.n_sides; ++d) { low[d] = 0; high[d] = cells.size[d] - 1; }
      put_part(cells, parts, owner, top, low, high);
    }
    __syncthreads();
    return;
  }
  if (threadIdx.x == 0) { stack[0][0] = 0; stack[0][1] = found; height = 1; }
  __syncthreads();
  while (height > 0) {
    const int begin = stack[height - 1][0], end = stack[height - 1][1];
    __syncthreads();
    if (threadIdx.x == 0) {
      --height;
      top = -(1LL << 62);
      left = right = 0;
      for (int d = 0; d < cells.n_sides; ++d) { low[d] = cells.size[d]; high[d] = -1; }
    }
    __syncthreads();
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const int c = alive[i];
      atomicMax(&top, bound_of(cells, c));
      for (int d = 0; d < cells.n_sides; ++d) {
        const int at = (c / cells.stride[d]) % cells.size[d];
        atomicMin(low + d, at);
        atomicMax(high + d, at);
      }
    }
    __syncthreads();
    double volume = 1;
    int side = 0;
    for (int d = 0; d < cells.n_sides; ++d) {
      volume *= high[d] - low[d] + 1;
      if (high[d] - low[d] > high[side] - low[side]) side = d;
    }
    if (volume <= DENSE * (double)(end - begin) || height + 2 > STACK) {
      if (threadIdx.x == 0) put_part(cells, parts, owner, top, low, high);
      __syncthreads();
      continue;
    }
    const int middle = (low[side] + high[side]) / 2;
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const int c = alive[i];
      const bool first = (c / cells.stride[side]) % cells.size[side] <= middle;
      other[first ? begin + atomicAdd(&left, 1) : end - 1 - atomicAdd(&right, 1)] = c;
    }
    __syncthreads();
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) alive[i] = other[i];
    if (threadIdx.x == 0) {
      stack[height][0] = begin;
      stack[height][1] = stack[height + 1][0] = begin + left;
      stack[height + 1][1] = end;
      height += 2;
    }
    __syncthreads();
  }
}

// The parts of boxes that may gain their goals, by the sums that `sift` leaves, which become those of tighter cells.
//   goals (n_boxes,); summed: whether they are already, where there was no room for all parts at first
//   spare: room for 2 `most` cells for each block; reached (n_boxes, 2) the largest exact gain, and the first cell of it
extern "C" __global__ void part_boxes(Whole* mass, Whole* loss, Whole* rows, const Side* sides, const int* n_sides,
                                      int depth, const Whole* first_cell, int n_boxes, const Whole* goals, int most,
                                      int summed, int* spare, Whole* out, Whole room, unsigned long long* number,
                                      Whole* reached) {
  int* alive = spare + 2 * (Whole)most * blockIdx.x;
  const PartList parts = {out, room, depth, number};
  for (int b = blockIdx.x; b < n_boxes; b += gridDim.x) {
    Cells cells;
    cells.mass = mass + first_cell[b];
    cells.loss = loss + first_cell[b];
    cells.rows = rows + first_cell[b];
    cells.n_sides = n_sides[b];
    cells.n_cells = (int)(first_cell[b + 1] - first_cell[b]);
    for (int d = 0; d < cells.n_sides; ++d) {
      const Side& side = sides[(Whole)b * depth + d];
      cells.size[d] = (int)side.size;
      cells.stride[d] = (int)side.stride;
      cells.lone[d] = 0;
      cells.all_lone[d] = side.size == side.high - side.low;
      cells.turned[d] = false;
    }
    cells.open = false;
    part_cells(cells, summed, goals[b], most, alive, alive + most, parts, b, reached + 2 * b, reached + 2 * b + 1);
    __syncthreads();
  }
}

// The same of sets of ordered axes, by the counts of their cells, each in one way to use its axes and for one label.
//   jobs (n_jobs, 6) where the cells of the set begin, its way (bit d: from the last bin on), group, plus, minus, goal
//   extents, n_bins (n_jobs, depth) bins of each axis with that of missing values, and without; lone_at (n_jobs, depth)
//   where the lone bins of an axis begin in `lone`
//   tables: room for 3 `places` numbers for each block
extern "C" __global__ void part_sets(const CELL* counts, const Whole* jobs, const int* extents, const int* n_bins,
                                     const Whole* lone_at, const unsigned char* lone, int depth, int n_jobs,
                                     int n_groups, Whole places, Whole* tables, int most, int* spare, Whole* out,
                                     Whole room, unsigned long long* number) {
  int* alive = spare + 2 * (Whole)most * blockIdx.x;
  const PartList parts = {out, room, depth, number};
  for (int j = blockIdx.x; j < n_jobs; j += gridDim.x) {
    const Whole* job = jobs + 6 * (Whole)j;
    Cells cells;
    cells.mass = tables + 3 * places * blockIdx.x;
    cells.loss = cells.mass + places;
    cells.rows = cells.loss + places;
    cells.n_sides = depth;
    cells.n_cells = 1;
    cells.open = true;
    int stride[MOST_SIDES], n_cells = 1;
    for (int d = 0; d < depth; ++d) {
      cells.size[d] = n_bins[(Whole)j * depth + d];
      cells.stride[d] = cells.n_cells;
      cells.n_cells *= cells.size[d];
      cells.lone[d] = lone + lone_at[(Whole)j * depth + d];
      cells.all_lone[d] = false;
      cells.turned[d] = (job[1] >> d) & 1;
      stride[d] = n_cells;
      n_cells *= extents[(Whole)j * depth + d];
    }
    const Whole plus = job[3], minus = job[4];
    for (int p = threadIdx.x; p < cells.n_cells; p += blockDim.x) {
      int cell = 0, rest = p;
      for (int d = 0; d < depth; ++d) {
        const int at = rest % cells.size[d];
        rest /= cells.size[d];
        cell += stride[d] * (cells.turned[d] ? cells.size[d] - 1 - at : at);
      }
      Whole right = 0, wrong = 0;
      for (int g = 0; g < n_groups; ++g) {
        const Whole n = (Whole)counts[job[0] + (Whole)g * n_cells + cell];
        if (g == job[2]) right = n; else wrong += n;
      }
      // where limits on rows have prices, a right row may lose and a wrong one gain
      cells.mass[p] = max(plus, 0LL) * right + max(-minus, 0LL) * wrong;
      cells.loss[p] = max(-plus, 0LL) * right + max(minus, 0LL) * wrong;
      cells.rows[p] = right + wrong;
    }
    __syncthreads();
    part_cells(cells, false, job[5], most, alive, alive + most, parts, j, 0, 0);
    __syncthreads();
  }
}

// -- intervals of one column ---------------------------------------------------------------------------------------

// Sums of what rows are worth, by code; sums (n_values,), factors (n_segments,) the value of a unit of weight.
extern "C" __global__ void add_by_code(const CODE* codes, const Whole* segments, const Whole* real, int n_segments,
                                       const Whole* weights, const Whole* factors, unsigned long long* sums) {
  for (int c = 0; c < n_segments; ++c)
    for (Whole i = segments[3 * c] + (Whole)blockIdx.x * blockDim.x + threadIdx.x; i < real[c];
         i += (Whole)gridDim.x * blockDim.x) {
      const CODE code = codes[i];
      if (code != (CODE)~(CODE)0)
        atomicAdd(sums + code, (unsigned long long)(factors[c] * (weights ? weights[i] : 1)));
    }
}

// The best run of each of some stretches of numbers: sums (first .. end), `length` in a stretch; one thread has one.
//   out (n_stretches, 4) sum, best sum of a beginning, of an end, and of any run, none of them empty
extern "C" __global__ void best_runs(const Whole* sums, Whole first, Whole end, Whole length, Whole n_stretches,
                                     Whole* out) {
  for (Whole s = (Whole)blockIdx.x * blockDim.x + threadIdx.x; s < n_stretches; s += (Whole)gridDim.x * blockDim.x) {
    Whole sum = 0, head = -(1LL << 62), tail = -(1LL << 62), best = -(1LL << 62);
    for (Whole at = first + s * length; at < min(end, first + (s + 1) * length); ++at) {
      sum += sums[at];
      head = max(head, sum);
      tail = max(tail, 0LL) + sums[at];
      best = max(best, tail);
    }
    out[4 * s] = sum;
    out[4 * s + 1] = head;
    out[4 * s + 2] = tail;
    out[4 * s + 3] = best;
  }
}
