#include "predict/workload/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/split_mix.h"

namespace reprise {
namespace {

// Integers in these proportions whose sum is `total`; largest remainders get what is left.
std::vector<std::int64_t> Shares(const std::vector<double>& weights, std::int64_t total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares;
  std::vector<std::pair<double, std::size_t>> rests;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * weights[i] / sum;
    shares.push_back(static_cast<std::int64_t>(exact));
    rests.emplace_back(static_cast<double>(shares.back()) - exact, i);
    given += shares.back();
  }
  std::sort(rests.begin(), rests.end());
  for (std::size_t i = 0; given < total; ++i, ++given) {
    ++shares[rests[i % rests.size()].second];
  }
  return shares;
}

std::int64_t Capacity(const ModelShape& model, std::int64_t tokens) {
  const double even =
      static_cast<double>(tokens * model.top_k) / static_cast<double>(model.experts);
  return static_cast<std::int64_t>(std::ceil(even * *model.capacity_factor));
}

}  // namespace

std::vector<std::int64_t> TokensOfExperts(const Workload& workload, std::int64_t tokens,
                                          std::int64_t layer, std::int64_t batch) {
  const ModelShape& model = workload.model;
  const auto experts = static_cast<std::size_t>(model.experts);
  const Routing& routing = workload.routing;
  std::vector<double> weights(experts, 1);
  if (!routing.balanced) {
    std::vector<std::size_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::uint64_t counter = routing.seed * 0x100000001b3 +
                            static_cast<std::uint64_t>(layer) * 65537 +
                            static_cast<std::uint64_t>(batch);
    for (std::size_t i = experts - 1; i > 0; --i, counter += kSplitMixStep) {
      std::swap(order[i], order[SplitMix(counter) % (i + 1)]);
    }
    for (std::size_t k = 0; k < experts; ++k) {
      weights[order[k]] = std::pow(static_cast<double>(k + 1), -routing.zipf);
    }
  }
  std::vector<std::int64_t> counts = Shares(weights, tokens * model.top_k);
  // A token goes to an expert once: what is too much for one goes to the next in favour.
  std::int64_t rest = 0;
  for (std::int64_t& count : counts) {
    rest += std::max<std::int64_t>(0, count - tokens);
    count = std::min(count, tokens);
  }
  std::vector<std::size_t> favour(experts);
  std::iota(favour.begin(), favour.end(), 0);
  std::stable_sort(favour.begin(), favour.end(),
                   [&](std::size_t i, std::size_t j) { return weights[i] > weights[j]; });
  for (const std::size_t expert : favour) {
    const std::int64_t more = std::min(rest, tokens - counts[expert]);
    counts[expert] += more;
    rest -= more;
  }
  for (std::int64_t& count : counts) {
    if (model.capacity_factor) {
      const std::int64_t most = Capacity(model, tokens);
      count = model.drop_tokens ? std::min(count, most) : most;
    }
  }
  return counts;
}

bool EvenRouting(const Workload& workload, std::int64_t tokens) {
  const ModelShape& model = workload.model;
  if (model.experts == 0 || workload.layout.ep == 1) {
    return true;
  }
  if (model.capacity_factor && !model.drop_tokens) {
    return true;  // padded
  }
  return workload.routing.balanced && tokens * model.top_k % model.experts == 0;
}

}  // namespace reprise
