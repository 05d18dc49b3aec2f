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
#include "report/nodes/measured_run.h"
#include "report/values/energy_values.h"

namespace reprise {

// Whose an execution is: outlives the rank's nodes.
struct EnergyUser {
  std::uint32_t rank = 0;     // position in the whole run
  std::int32_t transfer = 0;  // a number that EnergyUses gives
  std::int32_t iteration = 0;
  Phase phase = Phase::kOther;
  OpClass op_class = OpClass::kOther;
};

// Ranks come in parts.
class EnergyUses {
 public:
  // Of all ranks; must outlive it.
  explicit EnergyUses(std::span<const MeasuredRank> outline);

  // UserOf then takes executions of these ranks.
  void Begin(const MeasuredRun& part);
  [[nodiscard]] EnergyUser UserOf(const Execution& execution) const;
  // What an execution got from its meters, over the part of its time that was measured; of those
  // meters the slowest updates every `update_ns` (0: not known).
  void Add(const EnergyUser& user, const EnergyShare& share, std::int64_t active_ns,
           std::int64_t update_ns);

  // Rows of all that was added. Without `above_idle`, none has such joules.
  void Finish(bool above_idle, EnergyAttribution& attribution) const;

 private:
  struct Sum {
    EnergyShare share;
    std::int64_t active_ns = 0, update_ns = 0;
    std::vector<double> iterations;  // joules by iteration
  };
  // Kind, group, its size, and bytes: the most that any member counts, as in the table of
  // transfers.
  using TransferRow = std::tuple<CommKind, std::string, std::int32_t, std::int64_t>;

  [[nodiscard]] std::int32_t NumberOf(const CollectiveInfo& info, std::int64_t bytes);
  [[nodiscard]] EnergyUse Use(const Sum& sum, bool above_idle) const;
  template <typename Key>
  [[nodiscard]] std::vector<EnergyUseRow> Rows(const std::vector<Sum>& sums, const Key& name,
                                               bool above_idle) const;

  std::span<const MeasuredRank> outline_;
  std::map<std::int32_t, std::size_t> iterations_;  // those that count, numbered
  double steps_ = 1;                                // of one iteration
  std::vector<TransferRow> transfers_;
  std::map<TransferRow, std::int32_t> transfer_numbers_;
  static constexpr std::int32_t kNone = -1;
  // Of the part.
  std::span<const MeasuredRank> ranks_;
  std::span<const std::size_t> positions_;
  std::vector<std::vector<std::int32_t>> number_of_node_;  // in transfers_
  std::vector<Sum> by_rank_, by_phase_, by_class_, by_transfer_;
};

// Of values by iteration.
[[nodiscard]] std::optional<Spread> SpreadOf(std::vector<double> values);

}  // namespace reprise
