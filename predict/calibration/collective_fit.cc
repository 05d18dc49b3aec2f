#include "predict/calibration/collective_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/counted.h"
#include "core/median.h"
#include "predict/calibration/log_fit.h"
#include "predict/calibration/values_left_out.h"
#include "predict/simulator/network.h"

namespace reprise {
namespace {

// The numbers as the fit moves them: logarithms of these values.
struct At {
  enum Number : std::size_t {
    kStart,
    kShortStart,
    kMoreLatency,  // of the long protocol beyond that of the short one
    kShortLatency,
    kEfficiency,
    kShortPart,
    kExchangeStart,
    kExchangeShortPart,
    kOwnShare,
    kInSwitch,
    kInSwitchLatency,
    kNumbers
  };
};
constexpr double kExpectedValues[At::kNumbers] = {1e4, 5e3, 1e3, 8e2, 0.8, 0.3,
                                                  1e4, 0.1, 0.2, 0.6, 2e4};

LogModel Expected() {
  LogModel model;
  constexpr double kWide = 2;
  for (const double expected : kExpectedValues) {
    model.expected.push_back(std::log(expected));
    model.deviation.push_back(kWide);
  }
  return model;
}

// The machine with these numbers; sources stay.
MachineModel With(const MachineModel& machine, std::span<const double> at) {
  MachineModel with = machine;
  const auto value = [&](At::Number number) { return std::exp(at[number]); };
  const auto part = [&](At::Number number) { return std::min(value(number), 1.0); };
  LinkLevel& link = with.links.front();
  CollectiveModel& collectives = with.collectives;
  collectives.start_ns.value = value(At::kStart);
  collectives.exchange_start_ns.emplace().value = value(At::kExchangeStart);
  collectives.own_share.emplace().value = part(At::kOwnShare);
  link.efficiency.value = part(At::kEfficiency);
  link.latency_ns.value = value(At::kMoreLatency);
  if (link.short_latency_ns) {
    collectives.short_start_ns.emplace().value = value(At::kShortStart);
    collectives.short_part.value = part(At::kShortPart);
    collectives.exchange_short_part.emplace().value = part(At::kExchangeShortPart);
    link.short_latency_ns->value = value(At::kShortLatency);
    link.latency_ns.value += value(At::kShortLatency);
  }
  if (link.in_switch) {
    link.in_switch->value = part(At::kInSwitch);
    link.in_switch_latency_ns->value = value(At::kInSwitchLatency);
  }
  return with;
}

double PeakNs(const MachineModel& machine, const KernelRow& row) {
  const CollectiveCall& call = *row.collective;
  return call.bytes * BusFactor(call.kind, call.members) / machine.DomainBandwidth(0) * kSecondNs;
}

std::vector<double> Measured(std::span<const KernelRow> rows) {
  std::vector<double> ns;
  for (const KernelRow& row : rows) {
    ns.push_back(row.ns);
  }
  return ns;
}

MachineModel Fitted(const MachineModel& machine, std::span<const KernelRow> rows) {
  LogModel model = Expected();
  model.ns = [&](std::span<const double> at) { return CollectiveNs(With(machine, at), rows); };
  return With(machine, FitLogTimes(model, Measured(rows)));
}

// Of one operation, of all that is asked for.
struct Cases {
  std::vector<double> fitted, left_out, constant, peaks;
  std::uint64_t outliers = 0;
};

using CasesByKind = std::map<CommKind, Cases>;

void LeaveValuesOut(const MachineModel& machine, std::span<const KernelRow> rows,
                    CasesByKind& cases) {
  const auto each = [&](std::span<const KernelRow> seen, std::span<const KernelRow> unseen) {
    const MachineModel fitted = Fitted(machine, seen);
    std::vector<double> ratios;
    for (const KernelRow& row : seen) {
      ratios.push_back(row.ns / PeakNs(machine, row));
    }
    const double constant = Median(ratios).value_or(1);
    const std::vector<double> predicted = CollectiveNs(fitted, unseen);
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      Cases& of_kind = cases[unseen[i].collective->kind];
      of_kind.left_out.push_back(RelativeError(predicted[i], unseen[i].ns));
      of_kind.constant.push_back(
          RelativeError(PeakNs(machine, unseen[i]) * constant, unseen[i].ns));
    }
  };
  using Key = double (*)(const KernelRow&);
  constexpr std::size_t kFewestMembers = 3;
  ForEachLeftOut(rows, std::vector<Key>{[](const KernelRow& row) -> double {
                   return row.collective->members;
                 }},
                 kFewestMembers, rows.size(), each);
  ForEachLeftOut(rows, std::vector<Key>{[](const KernelRow& row) { return row.collective->bytes; }},
                 kLeftOutParts, kLeftOutParts, each);
}

Status Check(const MachineModel& machine, const KernelTable& table) {
  if (machine.links.empty()) {
    return BadInput(
        fmt::format("{}: {} is one device, and has no links", table.name, machine.name));
  }
  const LinkLevel& link = machine.links.front();
  for (const KernelRow& row : table.rows) {
    if (link.spans() != 0 && row.collective->members > link.spans()) {
      return BadInput(fmt::format(
          "{}: line {}: {} members; {}, the innermost link of {}, joins {}: a table of collectives "
          "is of one such domain",
          table.name, row.line, row.collective->members, link.name, machine.name, link.spans()));
    }
  }
  if (table.rows.size() < kFewestRows) {
    return BadInput(
        fmt::format("{}: {} of collectives; at least {} are needed for {} numbers "
                    "(docs/kernel_tables.md)",
                    table.name, Counted(table.rows.size(), "row"), kFewestRows,
                    static_cast<std::size_t>(At::kNumbers)));
  }
  return {};
}

CollectiveFit Sourced(const MachineModel& fitted, std::size_t rows, const std::string& table) {
  CollectiveFit fit{fitted.collectives, fitted.links.front(), {}};
  const auto source = [&](SourcedNumber& number, const char* unit) {
    number.unit = unit;
    number.source = NumberSource::kFitted;
    number.reference = fmt::format("{} of {}; `fits` has the errors of class collective",
                                   Counted(rows, "row"), table);
  };
  source(fit.collectives.start_ns, "ns");
  source(*fit.collectives.exchange_start_ns, "ns");
  source(*fit.collectives.own_share, "1");
  source(fit.link.efficiency, "1");
  source(fit.link.latency_ns, "ns");
  if (fit.link.short_latency_ns) {
    source(*fit.collectives.short_start_ns, "ns");
    source(fit.collectives.short_part, "1");
    source(*fit.collectives.exchange_short_part, "1");
    source(*fit.link.short_latency_ns, "ns");
  }
  if (fit.link.in_switch) {
    source(*fit.link.in_switch, "1");
    source(*fit.link.in_switch_latency_ns, "ns");
  }
  return fit;
}

}  // namespace

std::vector<double> CollectiveNs(const MachineModel& machine, std::span<const KernelRow> rows) {
  std::vector<double> ns;
  ns.reserve(rows.size());
  std::int32_t most = 2;
  for (const KernelRow& row : rows) {
    most = std::max(most, row.collective->members);
  }
  const Result<Network> network = Network::Create(machine, most);
  std::map<std::int32_t, GroupShape> shapes;
  for (const KernelRow& row : rows) {
    const auto [shape, is_new] = shapes.try_emplace(row.collective->members);
    if (is_new && network) {
      std::vector<std::int32_t> devices(static_cast<std::size_t>(row.collective->members));
      std::iota(devices.begin(), devices.end(), 0);
      shape->second = network->ShapeOf(devices);
    }
    ns.push_back(network
                     ? static_cast<double>(network
                                               ->TimeOf(row.collective->kind, row.collective->bytes,
                                                        shape->second, row.work.dtype)
                                               .ns)
                     : 0);
  }
  return ns;
}

Result<CollectiveFit> FitCollectives(const MachineModel& machine, const KernelTable& table) {
  REPRISE_TRY(Check(machine, table));
  CasesByKind cases;
  std::vector<KernelRow> rows = table.rows;
  const std::vector<double> first = CollectiveNs(Fitted(machine, rows), rows);
  std::vector<KernelRow> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (IsOutlier(first[i], rows[i].ns)) {
      ++cases[rows[i].collective->kind].outliers;
    } else {
      kept.push_back(rows[i]);
    }
  }
  if (kept.size() < kFewestRows || 2 * kept.size() < rows.size()) {
    return BadInput(fmt::format(
        "{}: most rows are off by more than a factor of {} from the model: is the machine the "
        "table's, are elements those of the whole message, and is the unit of time right?",
        table.name, kOutlierFactor));
  }
  const MachineModel fitted = Fitted(machine, kept);
  const std::vector<double> predicted = CollectiveNs(fitted, kept);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Cases& of_kind = cases[kept[i].collective->kind];
    of_kind.fitted.push_back(RelativeError(predicted[i], kept[i].ns));
    of_kind.peaks.push_back(RelativeError(PeakNs(machine, kept[i]), kept[i].ns));
  }
  LeaveValuesOut(machine, kept, cases);
  CollectiveFit fit = Sourced(fitted, kept.size(), table.name);
  for (auto& [kind, of_kind] : cases) {
    TableErrors& errors = fit.errors.emplace_back();
    errors.type = Name(kind);
    errors.rows = of_kind.fitted.size();
    errors.outliers = of_kind.outliers;
    errors.fitted = Median(of_kind.fitted).value_or(0);
    errors.left_out = Median(of_kind.left_out);
    errors.constant = Median(of_kind.constant);
    errors.peaks = Median(of_kind.peaks).value_or(0);
  }
  return fit;
}

}  // namespace reprise
