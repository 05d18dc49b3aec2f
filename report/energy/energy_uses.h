// Shares of energy, summed by rank, phase, class and transfer. Only report/ sees this.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "report/energy/energy_split.h"
#include "report/energy/load.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/values/energy_values.h"

namespace reprise {

// Ranks come in parts.
class EnergyUses {
 public:
  // Of all ranks; must outlive it.
  EnergyUses(std::span<const MeasuredRank> outline, const TransferMatches& matches);

  // What is added next is of these ranks, which stand at `positions` in the outline.
  void Begin(std::span<const MeasuredRank> ranks, std::span<const std::size_t> positions);
  // What an execution got from its meters, over the part of its time that was measured; of those
  // meters the slowest updates every `update_ns` (0: not known).
  void Add(const Execution& execution, const EnergyShare& share, std::int64_t active_ns,
           std::int64_t update_ns);

  // Rows of all that was added. Without `above_idle`, none has such joules.
  void Finish(bool above_idle, EnergyAttribution& attribution) const;

 private:
  struct Sum {
    EnergyShare share;
    std::int64_t active_ns = 0, update_ns = 0;
    std::vector<double> iterations;  // joules by iteration
  };
  using TransferRow = std::tuple<std::string, std::string, std::int32_t, std::int64_t>;

  void NumberTransfers(const TransferMatches& matches);
  [[nodiscard]] EnergyUse Use(const Sum& sum, bool above_idle) const;
  template <typename Key>
  [[nodiscard]] std::vector<EnergyUseRow> Rows(const std::vector<Sum>& sums, const Key& name,
                                               bool above_idle) const;

  std::span<const MeasuredRank> outline_;
  std::map<std::int32_t, std::size_t> iterations_;  // those that count, numbered
  double steps_ = 1;                                // of one iteration
  std::vector<TransferRow> transfers_;
  static constexpr std::int32_t kNone = -1;
  std::vector<std::vector<std::int32_t>> number_;  // in transfers_, by rank and collective
  // Of the part.
  std::span<const MeasuredRank> ranks_;
  std::span<const std::size_t> positions_;
  std::vector<std::vector<std::int32_t>> number_of_node_;  // in transfers_
  std::vector<Sum> by_rank_, by_phase_, by_class_, by_transfer_;
};

// Of values by iteration.
[[nodiscard]] std::optional<Spread> SpreadOf(std::vector<double> values);

}  // namespace reprise
