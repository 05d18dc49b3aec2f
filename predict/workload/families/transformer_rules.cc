// Which layouts a transformer admits.
#include <fmt/format.h>

#include "core/counted.h"
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

// The sizes of latent attention stand for those of heads.
Status CheckLatentAttention(const ModelShape& m) {
  if (!m.LatentAttention()) {
    for (const auto& [name, size] :
         {std::pair("q_rank", m.q_rank), std::pair("value_size", m.value_size)}) {
      if (size > 0 && size != m.head_size) {
        return BadInput(fmt::format(
            "\"{}\" is of latent attention, and \"kv_rank\" is 0: attention has none", name));
      }
    }
    return {};
  }
  if (m.rotary_size == 0 || m.value_size == 0 || !m.rotary) {
    return BadInput(
        "latent attention (\"kv_rank\") needs \"rotary\", \"rotary_size\" and \"value_size\": the "
        "features of a head that are turned, and those of its values");
  }
  if (m.kv_heads != m.heads || m.window > 0 || m.sinks || m.qk_norm) {
    return BadInput(
        "latent attention (\"kv_rank\") has as many heads of keys and values as of queries, no "
        "\"window\", no \"sinks\" and no \"qk_norm\"");
  }
  return {};
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
  for (std::int64_t* size : {&m.value_size, &m.rotary_size}) {
    if (*size == 0 && !m.LatentAttention()) {
      *size = m.head_size;
    }
  }
  if (m.ffn == 0) {
    m.ffn = 4 * m.hidden;
  }
}

namespace {

Status CheckAttention(const ModelShape& m) {
  // A size of heads that was not given is what the division leaves.
  if (m.hidden % m.heads != 0 && m.head_size == m.hidden / m.heads) {
    return BadInput(fmt::format(
        "\"heads\" of {} does not divide \"hidden\" of {}, and \"head_size\" is not given", m.heads,
        m.hidden));
  }
  if (m.kv_heads > m.heads || m.heads % m.kv_heads != 0) {
    return BadInput(
        fmt::format("\"kv_heads\" of {} does not divide \"heads\" of {}", m.kv_heads, m.heads));
  }
  if (m.rotary_size > m.head_size) {
    return BadInput(fmt::format("\"rotary_size\" of {} is above the \"head_size\" of {}",
                                m.rotary_size, m.head_size));
  }
  if (m.rotary && m.rotary_size % 2 != 0) {
    return BadInput(
        fmt::format("rotary positions need an even number of features, not {}", m.rotary_size));
  }
  if (m.rotary && m.alibi) {
    return BadInput("positions are \"rotary\" or \"alibi\", not both");
  }
  if (m.alibi && m.fused_attention) {
    return BadInput("\"alibi\" needs \"fused_attention\": false: it is added to the scores");
  }
  if (m.sinks && !m.fused_attention) {
    return BadInput("\"sinks\" need \"fused_attention\", whose sums of exponentials they join");
  }
  if (m.window > 0 && !m.causal) {
    return BadInput("\"window\" needs \"causal\": true");
  }
  if (m.full_attention_every > 0 && m.window == 0) {
    return BadInput("\"full_attention_every\" is given, and there is no \"window\"");
  }
  return CheckLatentAttention(m);
}

Status CheckExpertsOf(const ModelShape& m) {
  if (m.experts > 0 && (m.top_k < 1 || m.top_k > m.experts)) {
    return BadInput(fmt::format("\"top_k\" is {}; expected 1 to {}, the number of experts", m.top_k,
                                m.experts));
  }
  if (m.experts == 0 && m.top_k > 0) {
    return BadInput(fmt::format("\"top_k\" is {}, but \"experts\" is 0", m.top_k));
  }
  for (const auto& [name, given] :
       {std::pair("dense_layers", m.dense_layers > 0), std::pair("dense_ffn", m.dense_ffn > 0),
        std::pair("experts_every", m.experts_every > 1), std::pair("shared_ffn", m.shared_ffn > 0),
        std::pair("expert_groups", m.expert_groups > 0)}) {
    if (given && m.experts == 0) {
      return BadInput(fmt::format("\"{}\" is of models with experts; \"experts\" is 0", name));
    }
  }
  if (m.dense_layers > m.layers) {
    return BadInput(fmt::format("\"dense_layers\" is {}; the model has {}", m.dense_layers,
                                Counted(m.layers, "layer")));
  }
  if (m.shared_gate && m.shared_ffn == 0) {
    return BadInput("\"shared_gate\" is given, and \"shared_ffn\" is 0");
  }
  if ((m.expert_groups > 0) != (m.groups_per_token > 0)) {
    return BadInput("\"expert_groups\" and \"groups_per_token\" go together");
  }
  if (m.expert_groups > 0) {
    if (m.experts % m.expert_groups != 0) {
      return BadInput(fmt::format("\"expert_groups\" of {} does not divide {}", m.expert_groups,
                                  Counted(m.experts, "expert")));
    }
    if (m.groups_per_token > m.expert_groups ||
        m.top_k > m.groups_per_token * (m.experts / m.expert_groups)) {
      return BadInput(fmt::format(
          "\"top_k\" of {} and \"groups_per_token\" of {} do not fit {} groups of {} experts",
          m.top_k, m.groups_per_token, m.expert_groups, m.experts / m.expert_groups));
    }
  }
  return {};
}

// Whether tensor parallelism divides "ffn": not if it is of experts alone, which have their own.
bool DividesFfn(const Workload& w) {
  const ModelShape& m = w.model;
  const bool dense = m.experts == 0 || m.dense_layers > 0 || m.experts_every > 1;
  return w.layout.etp == 0 || (dense && m.dense_ffn == 0);
}

}  // namespace

Status CheckPatches(const Workload& w) {
  const ModelShape& m = w.model;
  if (m.image % m.patch != 0) {
    return BadInput(
        fmt::format("\"patch\" of {} does not divide \"image\" of {}", m.patch, m.image));
  }
  if (w.layout.cp > 1) {
    return BadInput("a transformer of images has no context parallelism (\"cp\")");
  }
  return {};
}

Status CheckTransformer(const Workload& w) {
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  REPRISE_TRY(CheckAttention(m));
  REPRISE_TRY(CheckExpertsOf(m));
  constexpr std::string_view kTensor = "tensor parallelism";
  REPRISE_TRY(Divides(kTensor, l.tp, "attention heads", m.heads));
  REPRISE_TRY(Divides(kTensor, l.tp, "heads of keys and values", m.kv_heads));
  if (DividesFfn(w)) {
    REPRISE_TRY(Divides(kTensor, l.tp, "columns of the feed-forward block (\"ffn\")", m.ffn));
  }
  REPRISE_TRY(Divides(kTensor, l.tp, "columns of the dense layers (\"dense_ffn\")", m.dense_ffn));
  REPRISE_TRY(
      Divides(kTensor, l.tp, "columns of the shared experts (\"shared_ffn\")", m.shared_ffn));
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
