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
// One block counts one set (x) in one tile of rows (y) of one segment (z) in shared memory and adds it to `out`;
// tiles are the slower index, so that the bins of a tile are read from cache by all sets.
template <int K>
__device__ void count(const Bin* bins, Whole pitch, const int* sets, const int* extents, const Whole* starts,
                      const Whole* segments, Whole tile, const Whole* weights, int in_shared, CELL* out) {
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
  if (in_shared) {
    for (int c = threadIdx.x; c < n_cells; c += blockDim.x) cells[c] = 0;
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
      atomicAdd(cells + cell, weights ? (CELL)weights[i + j] : (CELL)1);
    }
  }
  if (!in_shared) return;
  __syncthreads();
  for (int c = threadIdx.x; c < n_cells; c += blockDim.x)
    if (cells[c]) atomicAdd(total + c, cells[c]);
}

#define COUNT(K)                                                                                               \
  extern "C" __global__ void count_##K(const Bin* bins, Whole pitch, const int* sets, const int* extents,      \
                                       const Whole* starts, const Whole* segments, Whole tile,                \
                                       const Whole* weights, int in_shared, CELL* out) {                   \
    count<K>(bins, pitch, sets, extents, starts, segments, tile, weights, in_shared, out);                    \
  }
COUNT(1) COUNT(2) COUNT(3) COUNT(4) COUNT(5) COUNT(6) COUNT(7) COUNT(8)

// The most that a rule on each set of ordered axes can gain, whatever the directions of its conditions.
//   n_bins   (n_sets, K) bins of each axis without that of missing values
//   spare    room for two tables of `room` places for each block; null where they fit into shared memory
//   labels   (n_labels, 3): the group of its class, and what a unit of weight of it gains, and of another group loses
//   bounds   (n_sets, 2) the largest over all labels, directions and places; and the largest gain of a threshold
//            at the edge of a bin, which a rule has
// A threshold in bin p covers at most the bins from p on, and at least those behind p. With R and W the weights
// of right and of wrong rows that are covered, the gain is at most plus * R(from p) - minus * W(behind p).
template <int K>
__device__ void bound(const CELL* cells, const int* extents, const int* n_bins, const Whole* starts, int n_sets,
                      int n_groups, const Whole* labels, int n_labels, Whole room, CELL* spare, Whole* bounds) {
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
          int behind = p, rest = p;
          bool some = true;
          for (int d = 0; d < K; ++d) {
            some = some && rest % size[d] + 1 < size[d];
            rest /= size[d];
            behind += step[d];
          }
          // where limits on rows have prices, a right row may lose and a wrong one gain
          const Whole r = plus >= 0 ? right[p] : some ? right[behind] : (CELL)0;
          const Whole w = minus < 0 ? wrong[p] : some ? wrong[behind] : (CELL)0;
          most = max(most, plus * r - minus * w);
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
                                       const Whole* starts, int n_sets, int n_groups, const Whole* labels,     \
                                       int n_labels, Whole room, CELL* spare, Whole* bounds) {                 \
    bound<K>(cells, extents, n_bins, starts, n_sets, n_groups, labels, n_labels, room, spare, bounds);         \
  }
BOUND(1) BOUND(2) BOUND(3) BOUND(4) BOUND(5) BOUND(6) BOUND(7) BOUND(8)

// What a row's level on a ray is: a position covers the row where level >= position.
//   op 0 `>=`: the code; 1 `<`: its negative; 2 `==`, 3 `!=`, 4 `in` (a table of truth values), 5 missing, 6 present
// A missing value has a level below all on rays of values.
struct Side {
  Whole column, low, high;  // place of the column among the codes; positions low < position <= high
  Whole op, code, table;    // the level, or where its table of truth values begins
  Whole first, n_edges;     // where its edges begin, and their number
  Whole stride;
  Whole from, span;  // of a threshold: the codes from `from` to `from + span` have a level above `low`
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

struct alignas(4 * sizeof(CODE)) Four { CODE code[4]; };

__device__ int class_of(const Whole* segments, int n_segments, Whole i) {
  int first = 0, last = n_segments - 1;
  while (first < last) {
    const int middle = (first + last + 1) / 2;
    if (segments[3 * middle] <= i) first = middle; else last = middle - 1;
  }
  return first;
}

// Mass, loss and rows of the finer cells of boxes; one block has one box (x) and a part of the rows (y).
//   sides (n_boxes, depth); n_sides (n_boxes,); edges: place t of a side holds the levels above edge t up to t + 1
//   factors (n_boxes, n_classes) the value of a unit of weight; first_cell (n_boxes + 1,) where the cells of a box begin
//   room  the number of cells that a block has room for in its own memory
//   real (n_segments,) the end of the rows of a class that are rows
extern "C" __global__ void sift(const CODE* codes, Whole pitch, const Side* sides, const int* n_sides, int depth,
                                const Whole* edges, const unsigned char* tables, const Whole* factors,
                                const Whole* first_cell, const Whole* segments, const Whole* real, int n_segments,
                                const Whole* weights, Whole n_rows, Whole room, unsigned long long* mass,
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
  const CODE* column = codes + own[0].column * pitch;
  const Whole step = 4 * (Whole)gridDim.y * blockDim.x;
  for (Whole at = 4 * ((Whole)blockIdx.y * blockDim.x + threadIdx.x); at < n_rows; at += step) {
    const Four four = *(const Four*)(column + at);
    for (int j = 0; j < 4; ++j) {
      if (!is_inside(four.code[j], own[0], tables)) continue;
      const Whole i = at + j;
      Whole cell = 0;
      bool inside = true;
      for (int d = 0; d < n_sides[b]; ++d) {
        const CODE code = d ? codes[own[d].column * pitch + i] : four.code[j];
        if (d && !is_inside(code, own[d], tables)) { inside = false; break; }
        const Whole level = level_of(code, own[d], tables);
        const Whole* cuts = edges + own[d].first;
        Whole first = 0, last = own[d].n_edges - 2;
        if (level >= own[d].high) first = last;
        while (first < last) {
          const Whole middle = (first + last + 1) / 2;
          if (cuts[middle] < level) first = middle; else last = middle - 1;
        }
        cell += first * own[d].stride;
      }
      if (!inside) continue;
      const int c = class_of(segments, n_segments, i);
      if (i >= real[c]) continue;
      const Whole gain = factors[(Whole)b * n_segments + c] * (weights ? (Whole)weights[i] : 1);
      if (gain > 0) atomicAdd(m + cell, (unsigned long long)gain);
      else if (gain < 0) atomicAdd(l + cell, (unsigned long long)(-gain));
      atomicAdd(n + cell, 1ULL);
    }
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
                                const unsigned char* tables, const Whole* segments, const Whole* real, int n_segments,
                                const Whole* weights, Whole n_rows, unsigned long long* always, Whole room,
                                Whole* picked, unsigned long long* number) {
  extern __shared__ unsigned char memory[];
  unsigned long long* sums = (unsigned long long*)memory;
  const int b = blockIdx.x;
  const Side* own = sides + (Whole)b * depth;
  for (int c = threadIdx.x; c < n_segments; c += blockDim.x) sums[c] = 0;
  __syncthreads();
  const CODE* column = codes + own[0].column * pitch;
  const Whole step = 4 * (Whole)gridDim.y * blockDim.x;
  for (Whole at = 4 * ((Whole)blockIdx.y * blockDim.x + threadIdx.x); at < n_rows; at += step) {
    Four four = {};
    if (n_sides[b]) four = *(const Four*)(column + at);  // a table without conditions has no codes
    for (int j = 0; j < 4; ++j) {
      const Whole i = at + j;
      bool inside = true, whole = true;
      for (int d = 0; inside && d < n_sides[b]; ++d) {
        const CODE code = d ? codes[own[d].column * pitch + i] : four.code[j];
        inside = is_inside(code, own[d], tables);
        whole = whole && inside && level_of(code, own[d], tables) >= own[d].high;
      }
      if (!inside) continue;
      const int c = class_of(segments, n_segments, i);
      const Whole weight = i >= real[c] ? 0 : (weights ? (Whole)weights[i] : 1);
      if (!weight) continue;
      if (whole) {
        atomicAdd(sums + c, (unsigned long long)weight);
      } else {
        const unsigned long long place = atomicAdd(number, 1ULL);
        if (place < room) { picked[2 * place] = b; picked[2 * place + 1] = i; }
      }
    }
  }
  __syncthreads();
  for (int c = threadIdx.x; c < n_segments; c += blockDim.x)
    if (sums[c]) atomicAdd(always + (Whole)b * n_segments + c, sums[c]);
}

// The most that a rule of each box can gain, and what its best rule at the edge of a place gains.
//   mass, loss  of all cells, as `sift` leaves them; sides for the strides, sizes (n_boxes, depth) the places of a side
//   bounds (n_boxes, 2); spare: room for two tables of `room` cells for each block, null where shared memory has it
// A position in place t of a side covers the places behind t and at most t itself; the tightest position, in the last
// place, covers that place as a whole.
extern "C" __global__ void bound_boxes(const unsigned long long* mass, const unsigned long long* loss, const Side* sides,
                                       const int* n_sides, int depth, const int* sizes, const Whole* first_cell,
                                       int n_boxes, Whole room, Whole* spare, Whole* bounds) {
  extern __shared__ unsigned char memory[];
  __shared__ Whole best, reached;
  Whole* m = spare ? spare + 2 * room * blockIdx.x : (Whole*)memory;
  Whole* l = m + room;
  for (int b = blockIdx.x; b < n_boxes; b += gridDim.x) {
    const Side* own = sides + (Whole)b * depth;
    const int* size = sizes + b * depth;
    const int n_cells = (int)(first_cell[b + 1] - first_cell[b]);
    if (threadIdx.x == 0) best = reached = -(1LL << 62);
    for (int c = threadIdx.x; c < n_cells; c += blockDim.x) {
      m[c] = (Whole)mass[first_cell[b] + c];
      l[c] = (Whole)loss[first_cell[b] + c];
    }
    __syncthreads();
    for (int d = 0; d < n_sides[b]; ++d) {
      const int step = (int)own[d].stride, n_lines = n_cells / size[d];
      for (int line = threadIdx.x; line < n_lines; line += blockDim.x) {
        const int first = line % step + (line / step) * step * size[d];
        for (int at = size[d] - 2; at >= 0; --at) {
          const int p = first + at * step;
          m[p] += m[p + step];
          l[p] += l[p + step];
        }
      }
      __syncthreads();
    }
    Whole most = -(1LL << 62), value = -(1LL << 62);
    for (int p = threadIdx.x; p < n_cells; p += blockDim.x) {
      int tight = p;
      for (int d = 0; d < n_sides[b]; ++d)
        if ((p / (int)own[d].stride) % size[d] + 1 < size[d]) tight += (int)own[d].stride;
      most = max(most, m[p] - l[tight]);
      value = max(value, m[p] - l[p]);
    }
    atomicMax(&best, most);
    atomicMax(&reached, value);
    __syncthreads();
    if (threadIdx.x == 0) {
      bounds[2 * b] = best;
      bounds[2 * b + 1] = reached;
    }
    __syncthreads();
  }
}
