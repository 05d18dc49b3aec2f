#include "predict/workload/parallel/context.h"

#include <fmt/format.h>

#include "predict/workload/parallel/parallelism.h"

namespace reprise {
namespace {

// What a way to share keys and values does not know.
Status CheckKindsOfAttention(const Workload& w) {
  const ModelShape& m = w.model;
  const ContextComm comm = w.layout.cp_comm_type;
  if (m.sinks) {
    return BadInput("context parallelism (\"cp\") of a model with \"sinks\" is not known");
  }
  if (comm == ContextComm::kAllToAll) {  // any attention, of fewer heads
    return {};
  }
  if (!m.fused_attention) {
    return BadInput(fmt::format(
        "context parallelism by {} needs \"fused_attention\": {}; \"cp_comm_type\" a2a does not",
        Name(comm),
        comm == ContextComm::kRing ? "parts are merged by their sums of exponentials, which "
                                     "unfused attention does not keep"
                                   : "each chunk of queries sees the keys up to its own end"));
  }
  if (m.LatentAttention()) {
    return BadInput(
        fmt::format("context parallelism by {} takes keys and values of equal sizes; latent "
                    "attention (\"kv_rank\") is not known of it, but of \"cp_comm_type\" a2a",
                    Name(comm)));
  }
  if (m.window > 0 && comm == ContextComm::kRing) {
    return BadInput(
        "context parallelism by p2p passes all keys and values round a ring; \"window\" is not "
        "known of it, but of \"cp_comm_type\" all_gather and a2a");
  }
  return {};
}

Status CheckContext(const Workload& w) {
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  if (l.cp == 1 || m.heads == 0) {
    return {};
  }
  REPRISE_TRY(CheckKindsOfAttention(w));
  if (m.sequence % (2 * l.cp) != 0) {
    return BadInput(fmt::format(
        "context parallelism of {} divides a sequence into 2 x {} chunks, of which each rank has "
        "two; {} tokens do not divide among {}",
        l.cp, l.cp, m.sequence, 2 * l.cp));
  }
  if (l.cp_comm_type != ContextComm::kAllToAll) {
    return {};
  }
  for (const auto& [name, heads] :
       {std::pair("heads", m.heads), std::pair("kv_heads", m.kv_heads)}) {
    if (heads / l.tp % l.cp != 0) {
      return BadInput(fmt::format(
          "context parallelism of {} by a2a divides the heads of a tensor-parallel rank: \"{}\" "
          "{} / tp {} = {} do not divide; \"cp_comm_type\" all_gather and p2p leave heads whole",
          l.cp, name, heads, l.tp, heads / l.tp));
    }
  }
  return {};
}

}  // namespace

Parallelism ContextParallel() {
  return {.name = "context",
          .help =
              "the sequence divided; keys and values travel round a ring, are gathered, or "
              "heads are divided for attention",
          .groups = [](const Workload& w) -> std::vector<GroupRole> {
            return {ByRule(w.layout, kContextGroup, "CONTEXT_PARALLEL_GROUP", {kContextAxis})};
          },
          .check = CheckContext};
}

TensorDesc TokensOf(Builder& b, const TensorDesc& x, std::int64_t dim, std::int64_t first,
                    std::int64_t count) {
  const auto d = static_cast<std::size_t>(dim);
  if (count == x.shape[d]) {
    return x;
  }
  std::vector<std::int64_t> shape = x.shape;
  shape[d] = count;
  return b.out.Host("aten::slice", Args(x, dim, first, first + count, 1),
                    b.out.Alias(x, shape, x.strides, x.offset + first * x.strides[d]));
}

Var ContextAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                     const AttentionKind& kind) {
  switch (b.layout().cp_comm_type) {
    case ContextComm::kRing:
      return RingAttention(b, q, k, v, kind.causal);
    case ContextComm::kAllGather:
      return GatheredAttention(b, q, k, v, kind);
    case ContextComm::kAllToAll:
      break;
  }
  const std::vector<Var> heads = TokensToHeads(b, {q, k, v});
  return HeadsToTokens(b, b.model().fused_attention
                              ? FusedAttention(b, heads[0], heads[1], heads[2], kind)
                              : UnfusedAttention(b, heads[0], heads[1], heads[2], kind));
}

}  // namespace reprise
