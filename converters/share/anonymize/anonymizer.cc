#include "converters/share/anonymize/anonymizer.h"

#include <algorithm>

#include "et_schema/header_fields.h"

namespace reprise {

void FieldTally::Add(const FieldTally& other) {
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    for (std::size_t action = 0; action < kActionCount; ++action) {
      counts[field][action] += other.counts[field][action];
    }
  }
}

std::int64_t Anonymizer::KeptNumber(Kept kept, std::int64_t value, const Node* node) const {
  const TimeMap& times = setting_.times;
  switch (kept) {
    case Kept::kSize:
      return setting_.sizes.At(value);
    case Kept::kTime:
      return times.At(value);
    case Kept::kUntilEnd: {
      const std::int64_t end_ns = node->start_ns + node->duration_ns;
      return times.At(end_ns) - times.At(end_ns - value);
    }
    case Kept::kUntilStart:
      return times.At(node->start_ns) - times.At(node->start_ns - value);
    case Kept::kPlain:
    case Kept::kName:
    case Kept::kOwn:
      break;
  }
  return value;
}

const std::string& Anonymizer::MappedName(const std::string& name) {
  const auto [at, added] = names_.try_emplace(name);
  if (added) {
    at->second =
        name.empty() || setting_.vocabulary.IsName(name) ? name : setting_.hash.Name("op", name);
  }
  return at->second;
}

const std::string& Anonymizer::MappedKernel(const std::string& name) {
  const auto [at, added] = kernels_.try_emplace(name);
  if (added) {
    const auto base = setting_.vocabulary.PublicKernel(name);
    at->second = base ? *base : setting_.hash.Name("kernel", name);
  }
  return at->second;
}

std::string Anonymizer::MappedGroup(const std::string& id) const {
  if (id.empty()) {
    return id;  // unknown stays unknown
  }
  const auto known = setting_.groups.find(id);
  return known != setting_.groups.end() ? known->second : setting_.hash.Name("group", id);
}

TraceMetadata Anonymizer::Header() {
  const TraceMetadata& in = renaming_.metadata;
  TraceMetadata out;
  ForEachMember(kHeaderFields, [&](const auto& row) { Share(row, in, out, nullptr); });
  out.version = HeaderText(Field::kVersion, in.version);
  out.source = HeaderText(Field::kSource, in.source);
  Clock(in, out);
  Steps(in, out);
  Ranges(in, out);
  IndexRanges(in, out);
  Samples(in, out);
  if (Keep(Field::kMachine, in.machine != RecordedMachine{})) {
    out.machine = in.machine;
    // "+cu126" of a release is public; the name of a private build after the '+' need not be.
    out.machine.framework = in.machine.framework.substr(0, in.machine.framework.find('+'));
    for (std::string* text :
         {&out.machine.processor, &out.machine.device, &out.machine.framework}) {
      if (!setting_.vocabulary.IsHardware(*text)) {
        text->clear();  // whatever a policy says, only what is public of it
        tally_.Count(Field::kMachine, Action::kDrop);
      }
    }
  }
  Placement(in.placement, out.placement);
  if (Keep(Field::kDiagnostics, !in.diagnostics.empty())) {
    out.diagnostics = in.diagnostics;
  }
  if (Keep(Field::kLink, in.link != LinkReport{})) {
    out.link = in.link;
  }
  return out;
}

// Which ranks share a host, and where they run on it, stays; what the host is called and where its
// devices sit, which identifies a machine, does not.
void Anonymizer::Placement(const RankPlacement& in, RankPlacement& out) {
  if (in == RankPlacement{} || Take(Field::kPlacement) != Action::kMap) {
    return;
  }
  out = in;
  const auto host = setting_.hosts.find(in.host);
  out.host = host != setting_.hosts.end() ? host->second : std::string();
  out.pci_bus_id.clear();
  out.device.link_neighbours.clear();
  for (std::string* text :
       {&out.process_numa_nodes, &out.memory_numa_nodes, &out.device.link_kind}) {
    if (!IsPlacementText(*text)) {
      text->clear();  // of another program: it may hold anything
      tally_.Count(Field::kPlacement, Action::kDrop);
    }
  }
}

// Free text: whatever a policy says, only what is public of it.
std::string Anonymizer::HeaderText(Field field, const std::string& text) {
  if (text.empty()) {
    return {};
  }
  if (!setting_.vocabulary.IsHeaderText(text)) {
    tally_.Count(field, Action::kDrop);
    return {};
  }
  return Keep(field) ? text : std::string();
}

// On the set's common clock a rank's times begin at base + offset
// (replayer/plan/recorded_times.h), so the offset, which identifies a host, can go into the
// base.
void Anonymizer::Clock(const TraceMetadata& in, TraceMetadata& out) {
  const Action base = Take(Field::kBaseNs);
  const Action clock = Take(Field::kClock);
  const bool folded = clock == Action::kMap && base == Action::kMap;
  if (base == Action::kKeep) {
    out.base_ns = in.base_ns;
  } else if (base == Action::kMap) {
    out.base_ns =
        setting_.times.At(in.base_ns + (folded ? in.clock_offset_ns : 0) - setting_.origin_ns);
  }
  if (clock == Action::kDrop) {
    return;
  }
  out.clock_offset_ns = folded ? 0 : setting_.times.At(in.clock_offset_ns);
  out.clock_drift = in.clock_drift;
  out.clock_uncertainty_ns =
      setting_.times.At(in.clock_uncertainty_ns) + setting_.times.UncertaintyNs();
}

void Anonymizer::Steps(const TraceMetadata& in, TraceMetadata& out) {
  for (const Step& step : in.steps) {
    const Action name = Take(Field::kStepNames);
    const bool times = Keep(Field::kStepTimes);
    Step& to = out.steps.emplace_back();
    to.name = name == Action::kKeep  ? step.name
              : name == Action::kMap ? MappedName(step.name)
                                     : std::string("trace");
    if (times) {
      to.start_ns = setting_.times.At(step.start_ns);
      to.duration_ns = setting_.times.At(step.start_ns + step.duration_ns) - to.start_ns;
    }
  }
}

void Anonymizer::Ranges(const TraceMetadata& in, TraceMetadata& out) {
  for (const Range& range : in.ranges) {
    const Action action = Take(Field::kRanges);
    if (action == Action::kDrop) {
      continue;
    }
    Range to = range;
    to.name = action == Action::kMap ? MappedName(range.name) : range.name;
    to.thread = setting_.policy.Of(Field::kTid) == Action::kMap
                    ? renaming_.threads.Of(range.thread) + 1
                    : range.thread;
    to.start_ns = setting_.times.At(range.start_ns);
    to.duration_ns = setting_.times.At(range.start_ns + range.duration_ns) - to.start_ns;
    out.ranges.push_back(std::move(to));
  }
}

void Anonymizer::IndexRanges(const TraceMetadata& in, TraceMetadata& out) {
  for (const IndexRange& range : in.index_ranges) {
    const std::int64_t incarnation = renaming_.incarnations.Of(range.incarnation);
    if (Take(Field::kIndexRanges) == Action::kMap && incarnation >= 0) {
      out.index_ranges.push_back({incarnation, range.low, range.high});
    }
  }
}

// As nodes are: devices numbered anew, times on the policy's grid.
void Anonymizer::Samples(const TraceMetadata& in, TraceMetadata& out) {
  for (const SampledSeries& series : in.samples) {
    if (Take(Field::kSamples) != Action::kMap) {
      continue;
    }
    SampledSeries to = series;
    to.device = setting_.policy.Of(Field::kDevice) == Action::kMap
                    ? static_cast<std::int32_t>(renaming_.devices.Of(series.device))
                    : series.device;
    for (std::int64_t& time_ns : to.times_ns) {
      time_ns = setting_.times.At(time_ns);
    }
    out.samples.push_back(std::move(to));
  }
}

}  // namespace reprise
