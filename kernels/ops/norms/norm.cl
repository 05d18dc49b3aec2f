// What the normalisations share. X: input, output and their gradients. W: weight, bias and theirs.
// S: saved statistics. Operands are dense row-major; `flags` says which of the optional ones exist.
#include "rows.cl"

#define HAS_WEIGHT 1
#define HAS_BIAS 2
#define CENTERED 4  // layer norm; without it RMS norm
#define TRAINING 8
#define HAS_RUNNING 16
#define WANT_X 32
#define WANT_W 64
#define WANT_B 128

static ACC wide_sum(VACC wide, ACC tail, __local ACC* tmp) {
  return group_sum(FOLD(PLUS, wide) + tail, tmp);
}

// Spans: a channel's elements are `spans` stretches of n contiguous elements. `lanes` work-items
// (a power of two up to L) share a stretch, L / lanes stretches are taken at a time.
#define FOR_SPANS(s, spans) \
  for (long s = get_local_id(0) / lanes; s < (spans); s += (L + lanes - 1) / lanes)
#define SPAN_VECTORS(i, n) \
  for (long i = (long)(get_local_id(0) % lanes) * V; i + V <= (n); i += (long)lanes * V)
#define SPAN_TAIL(i, n) \
  for (long i = (n) - (n) % V + get_local_id(0) % lanes; i < (n); i += lanes)
