// The numbers of the simulator's model of collectives (predict/simulator/network.h) from measured
// ones, of devices that the innermost link joins.
#pragma once

#include <span>
#include <vector>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"
#include "predict/calibration/table_fit.h"
#include "predict/machine/machine.h"

namespace reprise {

struct CollectiveFit {
  // Of the machine: all but the chunk of trees is fitted.
  CollectiveModel collectives;
  // The innermost link: efficiency, latency, short_latency are fitted; in_switch and its latency
  // where the machine has them, for a table does not say what switches can do.
  LinkLevel link;
  std::vector<TableErrors> errors;  // by operation
};

// Times are those of Network::TimeOf. Left out, by turns: each number of members, and a fifth of
// all sizes. Bad input: fewer than 50 rows, a machine without links, more members than the
// innermost link joins.
[[nodiscard]] Result<CollectiveFit> FitCollectives(const MachineModel& machine,
                                                   const KernelTable& table);

// With the machine's own numbers, of each row.
[[nodiscard]] std::vector<double> CollectiveNs(const MachineModel& machine,
                                               std::span<const KernelRow> rows);

}  // namespace reprise
