// Which layouts a transformer admits.
#include <fmt/format.h>

#include "predict/workload/families/transformer.h"
#include "predict/workload/parallel/parallelism.h"

namespace reprise {
namespace {

Status Divides(std::string_view what, std::int64_t by, std::string_view of, std::int64_t whole) {
  if (whole % by == 0) {
    return {};
  }
  return BadInput(fmt::format("{} of {} does not divide {} {}", what, by, whole, of));
}

}  // namespace

void CompleteTransformer(Workload& w) {
  ModelShape& m = w.model;
  if (m.kv_heads == 0) {
    m.kv_heads = m.heads;
  }
  if (m.head_size == 0 && m.heads > 0) {
    m.head_size = m.hidden / m.heads;
  }
  if (m.ffn == 0) {
    m.ffn = 4 * m.hidden;
  }
}

Status CheckTransformer(const Workload& w) {
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  if (m.head_size * m.heads != m.hidden && m.hidden % m.heads != 0) {
    return BadInput(
        fmt::format("\"heads\" of {} does not divide \"hidden\" of {}", m.heads, m.hidden));
  }
  if (m.kv_heads > m.heads || m.heads % m.kv_heads != 0) {
    return BadInput(
        fmt::format("\"kv_heads\" of {} does not divide \"heads\" of {}", m.kv_heads, m.heads));
  }
  if (m.experts > 0 && (m.top_k < 1 || m.top_k > m.experts)) {
    return BadInput(fmt::format("\"top_k\" is {}; expected 1 to {}, the number of experts", m.top_k,
                                m.experts));
  }
  if (m.experts == 0 && m.top_k > 0) {
    return BadInput(fmt::format("\"top_k\" is {}, but \"experts\" is 0", m.top_k));
  }
  if (m.rotary && m.head_size % 2 != 0) {
    return BadInput(fmt::format("rotary positions need an even head size, not {}", m.head_size));
  }
  constexpr std::string_view kTensor = "tensor parallelism";
  REPRISE_TRY(Divides(kTensor, l.tp, "attention heads", m.heads));
  REPRISE_TRY(Divides(kTensor, l.tp, "heads of keys and values", m.kv_heads));
  REPRISE_TRY(Divides(kTensor, l.tp, "columns of the feed-forward block (\"ffn\")", m.ffn));
  if (l.vocab_parallel && m.vocab > 0) {
    REPRISE_TRY(Divides(kTensor, l.tp, "words of the vocabulary", m.vocab));
  }
  REPRISE_TRY(Divides("context parallelism", l.cp, "tokens of the sequence", m.sequence));
  if (l.sequence_parallel) {
    REPRISE_TRY(
        Divides("sequence parallelism", l.tp, "tokens of a rank's sequence", m.sequence / l.cp));
    if (m.batch_first) {
      return BadInput(
          "sequence parallelism needs \"batch_first\": false: the sequence is gathered along the "
          "first dimension");
    }
  }
  return {};
}

}  // namespace reprise
