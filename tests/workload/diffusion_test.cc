// Diffusion transformers against closed forms.
#include <gmock/gmock.h>

#include <random>
#include <string>

#include "predict/workload/job/generate.h"
#include "predict/workload/job/parse.h"
#include "tests/workload/gradient_transfers.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

struct DiffusionForm {
  const Workload& w;
  const ModelShape& m = w.model;
  const Layout& l = w.layout;
  std::int64_t h = m.hidden, f = m.ffn;
  std::int64_t tokens = (m.image / m.patch) * (m.image / m.patch);
  std::int64_t numbers = m.channels * m.patch * m.patch;  // of a patch

  [[nodiscard]] std::int64_t Ends() const {
    const std::int64_t embedding =
        numbers * h + h + (256 * h + h) + (h * h + h) + (m.classes + 1) * h;
    return embedding + (2 * h * h + 2 * h) + (2 * numbers * h + 2 * numbers);
  }
  // Of a rank of `t`: every rank has the modulation whole.
  [[nodiscard]] std::int64_t Layer(std::int64_t t) const {
    return (4 * h * h + 3 * h) / t + h + (2 * h * f + f) / t + h + 6 * h * h + 6 * h;
  }
  [[nodiscard]] std::int64_t ModelFlops() const {
    const std::int64_t layer =
        tokens * 2 * (4 * h * h + 2 * h * f) + 4 * tokens * tokens * h + 2 * 6 * h * h;
    const std::int64_t head = 2 * 2 * h * h + tokens * 2 * h * 2 * numbers;
    const std::int64_t forward = m.layers * layer + head + 2 * h * h;
    // Neither images nor times have a gradient.
    const std::int64_t first = 2 * tokens * h * numbers + 2 * 256 * h;
    return w.global_batch * (3 * forward + 2 * first);
  }
  [[nodiscard]] TransferBytes Transfers() const {
    const std::int64_t width = m.dtype == DType::kFloat32 ? 4 : 2;
    TransferBytes bytes;
    AddGradientTransfers(
        w, width,
        [this](std::int64_t) {
          return HeldElements{Ends() + m.layers * Layer(l.tp), 0};
        },
        bytes);
    if (l.tp > 1) {
      const std::int64_t passes = w.recompute == Recompute::kFull ? 6 : 4;
      bytes[{"all_reduce", "tp"}] += l.tp * w.global_batch * m.layers * passes * tokens * h * width;
    }
    return bytes;
  }
};

TEST(Diffusion, ParametersFlopsAndTransfersAreEqual) {
  std::mt19937 random{5};
  const auto one_of = [&random](std::initializer_list<std::int64_t> numbers) {
    return *(numbers.begin() + static_cast<std::ptrdiff_t>(random() % numbers.size()));
  };
  int compared = 0;
  for (int i = 0; i < 80; ++i) {
    Workload w = *ReadWorkload("dit-small");
    w.model.layers = one_of({1, 2, 3});
    w.model.hidden = 16 * one_of({4, 8});
    w.model.ffn = one_of({128, 256});
    w.model.image = one_of({8, 16});
    w.model.patch = one_of({2, 4});
    w.model.classes = 15;
    w.model.dtype = one_of({0, 1}) == 0 ? DType::kFloat32 : DType::kBFloat16;
    Layout& l = w.layout;
    l.tp = one_of({1, 2, 4});
    l.dp = one_of({1, 2, 4});
    l.fsdp = one_of({0, 0, 1}) == 1;
    l.distributed_optimizer = !l.fsdp && one_of({0, 1}) == 1;
    l.divided_gradients = l.distributed_optimizer && one_of({0, 1}) == 1;
    w.micro_batch = one_of({1, 2});
    w.global_batch = w.micro_batch * l.dp * one_of({1, 2});
    w.recompute = one_of({0, 1}) == 1 ? Recompute::kFull : Recompute::kNone;
    CompleteWorkload(w);
    if (!CheckWorkload(w)) {
      continue;
    }
    ++compared;
    const auto summary = Generate({.workload = w});
    ASSERT_TRUE(summary) << summary.error().message;
    const DiffusionForm form{w};
    const std::string layout = testing::PrintToString(std::vector<std::int64_t>{
        l.tp, l.dp, l.zero(), w.micro_batch, w.global_batch, w.model.layers, w.model.hidden,
        w.recompute == Recompute::kFull ? 1 : 0});
    ASSERT_EQ(summary->parameters, form.Ends() + w.model.layers * form.Layer(1)) << layout;
    ASSERT_EQ(summary->model_flops, static_cast<double>(form.ModelFlops())) << layout;
    ASSERT_EQ(BytesOf(*summary), form.Transfers()) << layout;
  }
  EXPECT_GE(compared, 40);
}

// Published: 675,129,632 numbers, of which the positions, 256 of 1,152, are not trained.
TEST(Diffusion, HasThePublishedParameters) {
  Workload w = *ReadWorkload("dit-xl-2");
  CompleteWorkload(w);
  const auto summary = Generate({.workload = w});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->parameters + 256 * 1152, 675'129'632);
  // 118.64 billion multiplications of one image (table 1), of products and attention.
  const double forward = summary->model_flops / 3 / static_cast<double>(w.global_batch);
  EXPECT_NEAR(forward / 2 / 118.64e9, 1, 0.005);
}

TEST(Diffusion, RefusesWhatIsNotKnown) {
  const auto refused = [](void (*change)(Workload&)) {
    Workload w = *ReadWorkload("dit-small");
    change(w);
    CompleteWorkload(w);
    const Status status = CheckWorkload(w);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(refused([](Workload& w) { w.layout.pp = 2; }), HasSubstr("has no pipeline"));
  EXPECT_THAT(refused([](Workload& w) { w.layout.cp = 2; }), HasSubstr("no context parallelism"));
  EXPECT_THAT(refused([](Workload& w) { w.model.patch = 3; }), HasSubstr("does not divide"));
  EXPECT_THAT(refused([](Workload& w) { w.model.experts = 4; }), HasSubstr("experts"));
  EXPECT_THAT(refused([](Workload& w) { w.model.dropout = 0.1; }), HasSubstr("dropout"));
  EXPECT_THAT(refused([](Workload& w) { w.model.rms_norm = true; }), HasSubstr("rms_norm"));
  EXPECT_THAT(refused([](Workload& w) { w.layers_only = true; }), HasSubstr("do not run alone"));
}

}  // namespace
}  // namespace reprise
