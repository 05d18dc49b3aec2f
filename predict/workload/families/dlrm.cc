// Recommendation models (Naumov et al. 2019, arXiv 1906.00091): tables of embeddings divided among
// ranks, two perceptrons on all of them, and an all-to-all between the two.
#include <fmt/format.h>

#include "predict/workload/families/transformer.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/parallelism.h"

namespace reprise {
namespace {

std::int64_t TablesOf(const Workload& w, std::int64_t rank) {
  const auto tables = static_cast<std::int64_t>(w.model.tables.size());
  return tables / w.layout.dp + (rank < tables % w.layout.dp ? 1 : 0);
}
std::int64_t FirstTable(const Workload& w, std::int64_t rank) {
  std::int64_t first = 0;
  for (std::int64_t before = 0; before < rank; ++before) {
    first += TablesOf(w, before);
  }
  return first;
}

using Perceptron = std::vector<WeightAndBias>;

class Recommender final : public Unit {
 public:
  Recommender(const Workload& w, const Place& place) : Unit("dlrm"), rank_(place.dp) {
    const ModelShape& m = w.model;
    const std::int64_t first = FirstTable(w, rank_);
    for (std::int64_t i = 0; i < TablesOf(w, rank_); ++i) {
      tables_.push_back(NewParameter({m.tables[static_cast<std::size_t>(first + i)], m.hidden}));
      tables_.back()->expert = true;
    }
    bottom_ = Layers(m.dense_features, m.bottom_mlp);
    const auto features = static_cast<std::int64_t>(m.tables.size()) + 1;
    top_ = Layers(m.hidden + features * (features - 1) / 2, m.top_mlp);
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& /*none*/) override {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const TensorDesc dense = CopyToDevice(b, b.dtype(), {batch, m.dense_features});
    const Var pooled = Exchange(b, Lookups(b));
    Var x{.tensor = dense};
    x = Through(b, x, bottom_, true);
    // Products of all pairs of features.
    const auto features = static_cast<std::int64_t>(m.tables.size()) + 1;
    const Var all = View(b, Concatenate(b, {x, pooled}, 1), {batch, features, m.hidden});
    const Var products = BatchedProduct(b, all, Transpose(b, all, 1, 2));
    const Var pairs = Pairs(b, products, features);
    x = Through(b, Concatenate(b, {x, pairs}, 1), top_, false);
    const Var logits = View(b, x, {batch});
    const TensorDesc labels = CopyToDevice(b, b.dtype(), {batch});
    return BinaryCrossEntropy(b, Sigmoid(b, logits), labels);
  }

 private:
  Perceptron Layers(std::int64_t in, const std::vector<std::int64_t>& widths) {
    Perceptron layers;
    for (const std::int64_t width : widths) {
      Parameter* const weight = NewParameter({width, in});
      layers.push_back({weight, NewParameter({width})});
      in = width;
    }
    return layers;
  }

  static Var Through(Builder& b, Var x, const Perceptron& layers, bool last_too) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = Linear(b, x, *layers[i].weight, layers[i].bias);
      if (last_too || i + 1 < layers.size()) {
        x = Relu(b, x);
      }
    }
    return x;
  }

  // This rank's tables for the samples of all ranks: (samples, tables · width); none: no tables.
  [[nodiscard]] std::vector<Var> Lookups(Builder& b) {
    const std::int64_t samples = b.workload.micro_batch * b.layout().dp;
    std::vector<Var> sums;
    for (Parameter* table : tables_) {
      const TensorDesc ids = CopyToDevice(b, DType::kInt64, {samples * b.model().lookups});
      const TensorDesc offsets = CopyToDevice(b, DType::kInt64, {samples});
      sums.push_back(EmbeddingBag(b, *table, ids, offsets));
    }
    return sums;
  }
  // All tables for this rank's samples: (samples, tables · width).
  [[nodiscard]] Var Exchange(Builder& b, const std::vector<Var>& sums) {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const std::int64_t ranks = b.layout().dp;
    const auto tables = static_cast<std::int64_t>(m.tables.size());
    if (ranks == 1) {
      return sums.size() == 1 ? sums[0] : Concatenate(b, sums, 1);
    }
    const std::int64_t mine = TablesOf(b.workload, rank_) * m.hidden * batch;
    const std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), mine);
    std::vector<std::int64_t> received;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      received.push_back(TablesOf(b.workload, rank) * m.hidden * batch);
    }
    const auto exchange = [&b](const TensorDesc& in, std::int64_t elements,
                               const std::vector<std::int64_t>& in_rows,
                               const std::vector<std::int64_t>& out_rows) {
      TensorDesc result = b.out.New(in.dtype, {elements});
      b.out.Wait(b.AllToAll("ep", in, result, in_rows, out_rows));
      return result;
    };
    std::vector<TensorDesc> parts;
    parts.reserve(sums.size());
    for (const Var& sum : sums) {
      parts.push_back(b.out.Part(sum.tensor, 0, {sum.tensor.elements}));
    }
    b.Op("All2All_Pooled_Req");
    TensorDesc flat = b.out.New(b.dtype(), {mine * ranks});
    if (!parts.empty()) {
      b.out.Work("aten::cat", Args(parts, 0), Args(flat));
    }
    const TensorDesc got = exchange(flat, tables * m.hidden * batch, sent, received);
    const TensorDesc rows = b.Shaped(got, {batch, tables * m.hidden});
    std::vector<Var> inputs = sums;
    // Without tables no operator takes a gradient, but the others wait for this rank's part.
    Var none{.tensor = rows};
    none.entry = b.tape->Input(rows).entry;
    inputs.push_back(none);
    const std::int64_t each = m.hidden * batch * ranks;
    const std::size_t count = sums.size();
    return b.Record(
        "All2All_Pooled_WaitBackward", inputs, rows,
        [&b, exchange, received, sent, mine, ranks, each, count, batch,
         m](const TensorDesc& gradient) {
          const TensorDesc sent_back = b.out.Part(gradient, 0, {gradient.elements});
          const TensorDesc back = exchange(sent_back, mine * ranks, received, sent);
          std::vector<Grad> out;
          for (std::size_t i = 0; i < count; ++i) {
            const TensorDesc part = b.out.Host(
                "aten::narrow", Args(back, 0, static_cast<std::int64_t>(i) * each, each),
                b.out.Part(back, static_cast<std::int64_t>(i) * each, {batch * ranks, m.hidden}));
            out.push_back({part, false});
          }
          out.push_back({});
          return out;
        });
  }
  // The lower triangle of the products: (batch, pairs).
  static Var Pairs(Builder& b, const Var& products, std::int64_t features) {
    b.Op();
    const std::int64_t batch = products.shape()[0];
    const std::int64_t pairs = features * (features - 1) / 2;
    const TensorDesc places = b.Constant("pairs", DType::kInt64, {pairs});
    const TensorDesc flat = b.Shaped(products.tensor, {batch, features * features});
    const TensorDesc result = b.out.Work("aten::index_select", Args(flat, 1, places),
                                         b.out.New(products.tensor.dtype, {batch, pairs}));
    return b.Record(
        "IndexSelectBackward0", {products}, result,
        [&b, places, batch, features](const TensorDesc& gradient) {
          const TensorDesc dx = b.Zeros(gradient.dtype, {batch, features * features});
          b.out.InPlace("aten::index_add_", dx, 1, places, gradient, 1);
          return std::vector<Grad>{{b.out.Part(dx, 0, {batch, features, features}), true}};
        });
  }

  std::int64_t rank_;
  std::vector<Parameter*> tables_;
  Perceptron bottom_, top_;
};

Status CheckDlrm(const Workload& w) {
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  if (l.tp > 1 || l.pp > 1 || l.cp > 1 || l.fsdp || l.sequence_parallel) {
    return BadInput(
        "a recommendation model has data parallelism alone, with its tables divided: no \"tp\", "
        "\"pp\", \"cp\" or \"fsdp\"");
  }
  if (m.tables.empty() || m.bottom_mlp.empty() || m.top_mlp.empty() || m.lookups < 1) {
    return BadInput(
        "a recommendation model needs \"tables\", \"lookups\", \"bottom_mlp\" and "
        "\"top_mlp\"");
  }
  if (m.bottom_mlp.back() != m.hidden) {
    return BadInput(
        fmt::format("the last width of \"bottom_mlp\" is {}; expected {}, the width of the "
                    "tables (\"hidden\")",
                    m.bottom_mlp.back(), m.hidden));
  }
  if (m.top_mlp.back() != 1) {
    return BadInput(
        fmt::format("the last width of \"top_mlp\" is {}; expected 1", m.top_mlp.back()));
  }
  return {};
}

// Tables differ: ranks with the same ones in number and rows do the same.
std::int64_t DlrmVariant(const Workload& w, const Place& place) {
  const auto rows = [&](std::int64_t rank) {
    const auto first = w.model.tables.begin() + FirstTable(w, rank);
    return std::vector<std::int64_t>(first, first + TablesOf(w, rank));
  };
  std::int64_t variant = 0;
  while (rows(variant) != rows(place.dp)) {
    ++variant;
  }
  return variant;
}

}  // namespace

ModelFamily DlrmFamily() {
  return {.name = "dlrm",
          .set_defaults =
              [](ModelShape& m) {
                m.dtype = DType::kFloat32;
                m.tied_embeddings = false;
              },
          .complete =
              [](Workload& w) {
                w.model.layers = 1;
                w.layout.ep = w.layout.dp;  // tables are divided as experts are
              },
          .check = CheckDlrm,
          .units =
              [](const Workload& w, const ModelPart&, const Place& place) {
                Units units;
                units.push_back(std::make_unique<Recommender>(w, place));
                return units;
              },
          .hidden_shape =
              [](const Workload& w) {
                return std::vector<std::int64_t>{w.micro_batch, w.model.hidden};
              },
          .variant = DlrmVariant};
}

}  // namespace reprise
