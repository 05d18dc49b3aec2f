#include "predict/workload/parallel/expert.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/counted.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/expert_gates.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/routing.h"

namespace reprise {
namespace {

constexpr const char* kExpertGroup = "ep";
// Of `etp`: ranks that divide an expert, and all that share a rank's tokens.
constexpr const char* kOwnTensorGroup = "etp";
constexpr const char* kDispatchGroup = "ep_etp";

std::int64_t Sum(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

// Rows of x by an index; the gradient is added where the rows came from.
Var IndexRows(Builder& b, const Var& x, const TensorDesc& index) {
  b.Op();
  std::vector<std::int64_t> shape = x.shape();
  shape[0] = index.shape[0];
  const TensorDesc result =
      b.out.Work("aten::index", Args(x.tensor, Tensors{index}), b.out.New(x.tensor.dtype, shape));
  const DType dtype = x.tensor.dtype;
  const std::vector<std::int64_t> before = x.shape();
  return b.Record(
      "IndexBackward0", {x}, result, [&b, index, dtype, before](const TensorDesc& gradient) {
        const TensorDesc dx = b.Zeros(dtype, before);
        b.out.InPlace("aten::_index_put_impl_", dx, Tensors{index}, gradient, true, true);
        return Fresh(dx);
      });
}

Var ExchangeRows(Builder& b, const Var& x, const std::vector<std::int64_t>& sent,
                 const std::vector<std::int64_t>& received) {
  const auto exchange = [&b](const TensorDesc& in, const std::vector<std::int64_t>& in_rows,
                             const std::vector<std::int64_t>& out_rows) {
    std::vector<std::int64_t> shape = in.shape;
    shape[0] = Sum(out_rows);
    TensorDesc result = b.out.New(in.dtype, shape);
    b.out.Wait(b.AllToAll(kExpertGroup, in, result, in_rows, out_rows));
    return result;
  };
  b.Op("AllToAll");
  const TensorDesc result = exchange(x.tensor, sent, received);
  return b.Record("AllToAllBackward", {x}, result,
                  [exchange, sent, received](const TensorDesc& gradient) {
                    return std::vector<Grad>{{exchange(gradient, received, sent), true}};
                  });
}

// The rows of all ranks that divide an expert, and back: each rank's sum of its rows.
TensorDesc GatheredRows(Builder& b, const TensorDesc& own) {
  TensorDesc all = b.out.New(own.dtype, {own.shape[0] * b.layout().etp, own.shape[1]});
  b.out.Wait(b.AllGather(kOwnTensorGroup, own, all));
  return all;
}
TensorDesc ScatteredRows(Builder& b, const TensorDesc& all) {
  TensorDesc own = b.out.New(all.dtype, {all.shape[0] / b.layout().etp, all.shape[1]});
  b.out.Wait(b.ReduceScatter(kOwnTensorGroup, all, own));
  return own;
}
Var GatherRows(Builder& b, const Var& x) {
  b.Op("_GatherFromSequenceParallelRegion");
  return b.Record("_GatherFromSequenceParallelRegionBackward", {x}, GatheredRows(b, x.tensor),
                  [&b](const TensorDesc& gradient) { return Fresh(ScatteredRows(b, gradient)); });
}
Var ScatterRows(Builder& b, const Var& x) {
  b.Op("_ReduceScatterToSequenceParallelRegion");
  return b.Record("_ReduceScatterToSequenceParallelRegionBackward", {x}, ScatteredRows(b, x.tensor),
                  [&b](const TensorDesc& gradient) { return Fresh(GatheredRows(b, gradient)); });
}

// 0, 1, … count - 1.
TensorDesc Numbers(Builder& b, std::int64_t count) {
  TensorDesc numbers = b.out.New(DType::kInt64, {count});
  b.out.Work("aten::arange", Args(count, kNoValue, kNoValue, numbers.device, false), Args(numbers));
  return numbers;
}
// Each of `numbers` as often as `counts` says: `rows` in all.
TensorDesc Owners(Builder& b, const TensorDesc& numbers, const TensorDesc& counts,
                  std::int64_t rows) {
  return b.out.Work("aten::repeat_interleave", Args(numbers, counts, kNoValue, kNoValue),
                    b.out.New(DType::kInt64, {rows}));
}

// The bias (groups, n) of each row's group.
Var AddByGroup(Builder& b, const Var& x, Parameter& bias, const TensorDesc& rows_of_groups) {
  const std::int64_t rows = x.shape()[0];
  b.Op();
  const TensorDesc owners = Owners(b, Numbers(b, bias.shape[0]), rows_of_groups, rows);
  const TensorDesc spread =
      b.out.Work("aten::index_select", Args(bias.value, 0, owners), b.NewLike(x.tensor));
  const std::vector<std::int64_t> shape = bias.shape;
  const Var of_rows = b.Record("IndexSelectBackward0", {Var{.parameter = &bias}}, spread,
                               [&b, owners, shape](const TensorDesc& gradient) {
                                 const TensorDesc sums = b.Zeros(gradient.dtype, shape);
                                 b.out.InPlace("aten::index_add_", sums, 0, owners, gradient, 1);
                                 return Fresh(sums);
                               });
  return Add(b, x, of_rows);
}

TensorDesc Argsort(Builder& b, const TensorDesc& keys, bool stable) {
  b.Op();
  TensorDesc result = b.out.New(DType::kInt64, keys.shape);
  if (stable) {
    b.out.Work("aten::argsort", Args(keys, true, -1, false), Args(result));
  } else {
    b.out.Work("aten::argsort", Args(keys, -1, false), Args(result));
  }
  return result;
}

// How many tokens of each expert come from each rank.
void ExchangeCounts(Builder& b, const TensorDesc& counts) {
  const bool apart = b.layout().etp > 0;
  const std::int64_t ranks = b.layout().ep * (apart ? b.layout().etp : 1);
  const std::string& how = b.model().count_exchange;
  const std::int64_t sizes = counts.shape[0];
  const auto sum = [&b](const TensorDesc& of, std::int64_t rows) {
    const TensorDesc view = b.out.Part(of, 0, {rows, of.elements / rows});
    b.out.Host("aten::view", Args(of, Ints{rows, -1}), Args(view));
    const TensorDesc result = b.out.Work("aten::sum", Args(view, Ints{1}, false, kNoValue),
                                         b.out.New(DType::kInt64, {rows}));
    b.out.ReadItem(result);  // the host needs the sizes
  };
  if (how == "all_to_all") {
    const TensorDesc result = b.out.New(DType::kInt64, {sizes});
    b.out.Wait(b.AllToAll(kExpertGroup, counts, result));
    sum(counts, ranks);
    sum(result, ranks);
  } else if (how == "all_gather") {
    const TensorDesc result = b.out.New(DType::kInt64, {ranks * sizes});
    b.out.Wait(b.AllGather(apart ? kDispatchGroup : kExpertGroup, counts, result));
    sum(counts, ranks);
    sum(result, ranks);
  }
}

Status CheckOwnTensorParallelism(const Workload& w) {
  const Layout& l = w.layout;
  const ModelShape& m = w.model;
  if (m.experts == 0) {
    return BadInput(fmt::format(
        "expert tensor parallelism of {} (\"etp\") needs a model with experts; \"experts\" is 0",
        l.etp));
  }
  if (l.tp > 1 && !l.sequence_parallel) {
    return BadInput(
        "expert tensor parallelism (\"etp\") sends each rank's own tokens to the experts: with "
        "\"tp\" above 1 it needs \"sequence_parallel\"");
  }
  if (m.ffn % l.etp != 0) {
    return BadInput(fmt::format(
        "expert tensor parallelism of {} does not divide {} columns of an expert (\"ffn\")", l.etp,
        m.ffn));
  }
  if (m.experts % l.ep != 0) {
    return BadInput(fmt::format("expert parallelism of {} does not divide {}", l.ep,
                                Counted(m.experts, "expert")));
  }
  if (l.tp * l.cp * l.dp % (l.etp * l.ep) != 0) {
    return BadInput(fmt::format(
        "etp {} x ep {} = {} does not divide the {} of a stage (tp {} x cp {} x dp {})", l.etp,
        l.ep, l.etp * l.ep, Counted(l.tp * l.cp * l.dp, "rank"), l.tp, l.cp, l.dp));
  }
  const std::int64_t tokens = m.sequence / l.cp / (l.sequence_parallel ? l.tp : 1) * w.micro_batch;
  if (!EvenRouting(w, tokens)) {
    return BadInput(
        fmt::format("expert tensor parallelism (\"etp\") takes experts with equal numbers of "
                    "tokens: balanced routing, and {} experts that divide {} x top_k {} = {}",
                    m.experts, Counted(tokens, "token"), m.top_k, tokens * m.top_k));
  }
  if (m.count_exchange == "all_to_all") {
    return BadInput(
        "expert tensor parallelism (\"etp\") gathers numbers of tokens: \"count_exchange\" is "
        "all_gather or none");
  }
  return {};
}

Status CheckExperts(const Workload& w) {
  const Layout& l = w.layout;
  if (l.etp > 0) {
    return CheckOwnTensorParallelism(w);
  }
  if (l.ep == 1 || !w.model.tables.empty()) {  // tables are divided in any number
    return {};
  }
  if (w.model.experts == 0) {
    return BadInput(
        fmt::format("expert parallelism of {} needs a model with experts; \"experts\" is 0", l.ep));
  }
  if (w.model.experts % l.ep != 0) {
    return BadInput(fmt::format("expert parallelism of {} does not divide {}", l.ep,
                                Counted(w.model.experts, "expert")));
  }
  if (l.dp % l.ep != 0) {
    return BadInput(fmt::format(
        "expert parallelism of {} does not divide data parallelism of {}, among whose ranks the "
        "experts are divided",
        l.ep, l.dp));
  }
  return {};
}

// Rows in the order of experts in place of the order of their senders.
TensorDesc OrderByExpert(Builder& b, const TensorDesc& counts, std::int64_t rows,
                         std::int64_t local, std::int64_t ranks) {
  b.Op();
  const TensorDesc repeated = b.out.Work("aten::repeat", Args(Numbers(b, local), Ints{ranks}),
                                         b.out.New(DType::kInt64, {local * ranks}));
  return Argsort(b, Owners(b, repeated, counts, rows), true);
}

// A rank's experts one after the other; `rows` of each from each sender.
Var ThroughEach(Builder& b, const Var& sorted, const std::vector<std::int64_t>& rows,
                std::int64_t senders, const std::vector<ExpertWeights>& experts) {
  const std::int64_t held = sorted.shape()[0];
  std::vector<Var> results;
  std::int64_t at = 0;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    const std::int64_t mine = rows[expert] * senders;
    if (mine > 0) {
      const Var part = mine == held ? sorted : Slice(b, sorted, 0, at, at + mine);
      const ExpertWeights& weights = experts[expert];
      results.push_back(
          Linear(b, UpAndActivation(b, part, weights), *weights.down.weight, weights.down.bias));
    }
    at += mine;
  }
  return results.empty() ? sorted : Concatenate(b, results, 0);
}

// All of a rank's experts at once.
Var ThroughGroups(Builder& b, const Var& sorted, const TensorDesc& per_expert,
                  const ExpertWeights& weights) {
  const std::int64_t local = weights.up.weight->shape[0];
  b.Op();
  const TensorDesc own = b.out.Part(per_expert, 0, {local});
  const TensorDesc ends =
      b.out.Work("aten::cumsum", Args(own, 0, kNoValue), b.out.New(DType::kInt64, {local}));
  const TensorDesc offsets = b.out.New(DType::kInt32, {local});
  b.out.InPlace("aten::copy_", offsets, ends, false);
  const auto linear = [&](const Var& x, const WeightAndBias& of) {
    const Var product = GroupedLinear(b, x, *of.weight, offsets);
    return of.bias == nullptr ? product : AddByGroup(b, product, *of.bias, own);
  };
  return linear(Activation(b, linear(sorted, weights.up)), weights.down);
}

}  // namespace

Parallelism ExpertParallel() {
  return {.name = "expert",
          .help = "experts divided among data-parallel ranks; tokens travel to them and back",
          .groups = [](const Workload& w) -> std::vector<GroupRole> {
            constexpr const char* kName = "EXPERT_MODEL_PARALLEL_GROUP";
            if (w.layout.etp == 0) {
              return {ByRule(w.layout, kExpertGroup, kName, {kExpertAxis})};
            }
            return {ByRuleOfExperts(w.layout, kExpertGroup, kName, {kOwnExpertAxis}),
                    ByRuleOfExperts(w.layout, kOwnTensorGroup, "EXPERT_TENSOR_PARALLEL_GROUP",
                                    {kOwnTensorAxis}),
                    ByRuleOfExperts(w.layout, kDispatchGroup, "EXPERT_TENSOR_AND_MODEL_GROUP",
                                    {kOwnTensorAxis, kOwnExpertAxis})};
          },
          .check = CheckExperts};
}

Var UpAndActivation(Builder& b, const Var& x, const ExpertWeights& weights) {
  return Activation(b, Linear(b, x, *weights.up.weight, weights.up.bias, true));
}

Var RouteThroughExperts(Builder& b, const Var& x, const WeightAndBias& router,
                        const std::vector<ExpertWeights>& experts) {
  const ModelShape& model = b.model();
  const std::int64_t tokens = x.shape()[0];
  const std::int64_t k = model.top_k;
  const std::int64_t ranks = b.layout().ep;
  const std::int64_t local = model.experts / ranks;
  // With ranks of their own, experts get equal numbers.
  const std::int64_t own_tensor = std::max<std::int64_t>(b.layout().etp, 1);
  const std::int64_t position = b.layout().etp > 0 ? 0 : b.place.dp % ranks;
  const std::int64_t senders = ranks * own_tensor;
  const std::vector<std::int64_t> counts = TokensOfExperts(b.workload, tokens, b.layer, b.batch);
  std::vector<std::int64_t> sent;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    sent.push_back(Sum({counts.begin() + rank * local, counts.begin() + (rank + 1) * local}));
  }
  const std::vector<std::int64_t> received(static_cast<std::size_t>(ranks),
                                           sent[static_cast<std::size_t>(position)]);
  TensorDesc chosen;
  const Var gates = Gates(b, Linear(b, x, *router.weight, router.bias), chosen);
  const TensorDesc flat = b.Shaped(chosen, {tokens * k});
  const TensorDesc order = Argsort(b, flat, true);
  const TensorDesc per_expert = b.out.Work("aten::bincount", Args(flat, kNoValue, model.experts),
                                           b.out.New(DType::kInt64, {model.experts}));
  // Padded to capacity, the sizes are known.
  const bool known = model.capacity_factor && !model.drop_tokens;
  if (senders > 1 && !known) {
    ExchangeCounts(b, per_expert);
  }
  const std::int64_t rows = Sum(sent);
  TensorDesc kept = order;
  if (rows != order.shape[0]) {  // dropped, or padded
    kept = b.out.New(DType::kInt64, {rows});
    b.out.Work("aten::constant_pad_nd", Args(order, Ints{0, rows - order.shape[0]}, 0), Args(kept));
  }
  const TensorDesc token_of = b.out.Work("aten::floor_divide", Args(kept, k), b.NewLike(kept));
  Var sorted = IndexRows(b, x, token_of);
  if (ranks > 1) {
    sorted = ExchangeRows(b, sorted, sent, received);
  }
  if (own_tensor > 1) {
    sorted = GatherRows(b, sorted);
  }
  const std::int64_t held = Sum(received) * own_tensor;
  TensorDesc by_expert;
  if (senders > 1 && local > 1) {
    const TensorDesc sizes = b.out.New(DType::kInt64, {local * senders});
    b.out.Work("aten::repeat", Args(b.out.Part(per_expert, 0, {local}), Ints{senders}),
               Args(sizes));
    by_expert = OrderByExpert(b, sizes, held, local, senders);
    sorted = IndexRows(b, sorted, by_expert);
  }
  const std::vector<std::int64_t> mine(counts.begin() + position * local,
                                       counts.begin() + (position + 1) * local);
  Var out = model.grouped_experts ? ThroughGroups(b, sorted, per_expert, experts[0])
                                  : ThroughEach(b, sorted, mine, senders, experts);
  if (senders > 1 && local > 1) {
    out = IndexRows(b, out, Argsort(b, by_expert, false));
  }
  if (own_tensor > 1) {
    out = ScatterRows(b, out);
  }
  if (ranks > 1) {
    out = ExchangeRows(b, out, received, sent);
  }
  TensorDesc back = Argsort(b, kept, false);
  if (rows != tokens * k) {  // what was dropped comes back as it can; what was added goes
    const TensorDesc places =
        b.out.Work("aten::constant_pad_nd", Args(back, Ints{0, tokens * k - rows}, 0),
                   b.out.New(DType::kInt64, {tokens * k}));
    back = places;
  }
  out = IndexRows(b, out, back);
  out = View(b, out, {tokens, k, x.shape()[1]});
  out = Multiply(b, out, View(b, gates, {tokens, k, 1}));
  return SumOver(b, out, 1);
}

}  // namespace reprise
