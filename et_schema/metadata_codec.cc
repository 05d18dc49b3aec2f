#include "et_schema/metadata_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "et_schema/node_stream.h"
#include "et_schema/ranges.h"
#include "et_schema/utf8.h"

namespace reprise {
namespace {

std::string Clean(std::string_view text) { return ReplaceInvalidUtf8(text); }

// Parallel lists: the shortest decides.
std::vector<Step> MakeSteps(const std::vector<std::string>& names,
                            const std::vector<std::int64_t>& starts,
                            const std::vector<std::int64_t>& durations) {
  std::vector<Step> steps(std::min({names.size(), starts.size(), durations.size()}));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = {names[i], starts[i], durations[i]};
  }
  return steps;
}

// `ranks` holds the groups' lists one after the other. Damaged lists end where they stop to fit.
std::vector<ProcessGroup> MakeGroups(const std::vector<std::string>& ids,
                                     const std::vector<std::string>& descriptions,
                                     const std::vector<std::int64_t>& sizes,
                                     const std::vector<std::int64_t>& ranks) {
  std::vector<ProcessGroup> groups;
  std::size_t at = 0;
  for (std::size_t i = 0; i < std::min(ids.size(), sizes.size()); ++i) {
    if (sizes[i] < 0 || static_cast<std::size_t>(sizes[i]) > ranks.size() - at) {
      break;
    }
    ProcessGroup& group = groups.emplace_back();
    group.id = ids[i];
    group.description = i < descriptions.size() ? descriptions[i] : "";
    for (std::int64_t k = 0; k < sizes[i]; ++k) {
      group.ranks.push_back(static_cast<std::int32_t>(ranks[at++]));
    }
  }
  return groups;
}

class MetadataDecoder {
 public:
  // False: of no type that this attribute can have, or not ours.
  bool Add(const RawAttribute& raw, TraceMetadata& out, MetadataExtras& extras) {
    std::string_view text;
    if (raw.name == "source" && raw.AsText(text)) {
      out.source = Clean(text);
      return true;
    }
    if (raw.name.starts_with("link_")) {
      return AddLink(raw, out.link);
    }
    if (raw.name.starts_with("machine_")) {
      return AddMachine(raw, out.machine);
    }
    if (raw.name == "clock_drift") {
      return raw.AsDouble(out.clock_drift);
    }
    if (raw.name == kNodeCountAttribute) {
      extras.node_count = raw.bits == kNodeCountUnknown ? std::nullopt : std::optional(raw.bits);
      return !raw.IsList();
    }
    return AddNumber(raw, out, extras) || AddList(raw);
  }

  void Finish(TraceMetadata& out) const {
    out.steps = MakeSteps(step_names_, step_starts_, step_durations_);
    out.ranges = RangesOf(ranges_);
    out.groups = MakeGroups(group_ids_, group_descriptions_, group_sizes_, group_ranks_);
    for (std::size_t i = 0; i + 2 < index_ranges_.size(); i += 3) {
      out.index_ranges.push_back({index_ranges_[i], index_ranges_[i + 1], index_ranges_[i + 2]});
    }
    for (std::size_t i = 0; i < std::min(counters_.size(), counts_.size()); ++i) {
      out.diagnostics.emplace_back(counters_[i], static_cast<std::uint64_t>(counts_[i]));
    }
  }

 private:
  static bool AddNumber(const RawAttribute& raw, TraceMetadata& out, MetadataExtras& extras) {
    std::int64_t value = 0;
    if (!raw.AsInt(value)) {
      return false;
    }
    if (raw.name == "rank") {
      out.rank = static_cast<std::int32_t>(value);
    } else if (raw.name == "world_size") {
      out.world_size = static_cast<std::int32_t>(value);
    } else if (raw.name == "base_ns") {
      out.base_ns = value;
    } else if (raw.name == "untraced_step_ns") {
      out.untraced_step_ns = value;
    } else if (raw.name == "tracing_call_ns") {
      out.tracing_call_ns = value;
    } else if (raw.name == "clock_offset_ns") {
      out.clock_offset_ns = value;
    } else if (raw.name == "clock_uncertainty_ns") {
      out.clock_uncertainty_ns = value;
    } else if (raw.name == kFormatAttribute) {
      extras.format = value;
    } else {
      return false;
    }
    return true;
  }

  static bool AddLink(const RawAttribute& raw, LinkReport& link) {
    std::string_view text;
    std::vector<std::int64_t> numbers;
    if (raw.name == "link_unmatched") {
      return Texts(raw, link.unmatched);
    }
    if ((raw.name == "link_method" || raw.name == "link_choice") && raw.AsText(text)) {
      (raw.name == "link_method" ? link.method : link.choice) = Clean(text);
      return true;
    }
    if (raw.name == "link_numbers" && raw.AsInts(numbers)) {
      SetLinkNumbers(numbers, link);
      return true;
    }
    if (raw.name == "link_threads" && raw.AsInts(numbers)) {
      SetLinkThreads(numbers, link);
      return true;
    }
    return false;
  }

  static bool AddMachine(const RawAttribute& raw, RecordedMachine& machine) {
    std::string_view text;
    std::int64_t number = 0;
    for (const auto& [name, to] : {std::pair("machine_processor", &machine.processor),
                                   std::pair("machine_device", &machine.device),
                                   std::pair("machine_framework", &machine.framework)}) {
      if (raw.name == name && raw.AsText(text)) {
        *to = Clean(text);
        return true;
      }
    }
    for (const auto& [name, to] : {std::pair("machine_threads", &machine.threads),
                                   std::pair("machine_cores", &machine.cores)}) {
      if (raw.name == name && raw.AsInt(number)) {
        *to = static_cast<std::int32_t>(number);
        return true;
      }
    }
    return false;
  }

  bool AddList(const RawAttribute& raw) {
    if (raw.name == "step_names") {
      return Texts(raw, step_names_);
    }
    if (raw.name == "step_starts_ns") {
      return raw.AsInts(step_starts_);
    }
    if (raw.name == "step_durations_ns") {
      return raw.AsInts(step_durations_);
    }
    if (raw.name == "range_names") {
      return Texts(raw, ranges_.names);
    }
    if (raw.name == "ranges") {
      return raw.AsInts(ranges_.numbers);
    }
    if (raw.name == "group_ids") {
      return Texts(raw, group_ids_);
    }
    if (raw.name == "group_descriptions") {
      return Texts(raw, group_descriptions_);
    }
    if (raw.name == "group_sizes") {
      return raw.AsInts(group_sizes_);
    }
    if (raw.name == "group_ranks") {
      return raw.AsInts(group_ranks_);
    }
    if (raw.name == "index_ranges") {
      return raw.AsInts(index_ranges_);
    }
    if (raw.name == "diagnostics_names") {
      return Texts(raw, counters_);
    }
    return raw.name == "diagnostics_counts" && raw.AsInts(counts_);
  }

  static bool Texts(const RawAttribute& raw, std::vector<std::string>& out) {
    std::vector<std::string_view> views;
    const bool ok = raw.AsTexts(views);
    out.clear();
    std::transform(views.begin(), views.end(), std::back_inserter(out), Clean);
    return ok;
  }

  std::vector<std::string> step_names_, counters_, group_ids_, group_descriptions_;
  std::vector<std::int64_t> step_starts_, step_durations_, counts_, index_ranges_, group_sizes_,
      group_ranks_;
  RangeLists ranges_;
};

}  // namespace

TraceMetadata DecodeMetadata(const RawMetadata& raw, MetadataExtras& extras,
                             Diagnostics& diagnostics) {
  TraceMetadata out;
  out.version = Clean(raw.version);
  MetadataDecoder decoder;
  for (const RawAttribute& attribute : raw.attributes) {
    if (!decoder.Add(attribute, out, extras)) {
      diagnostics.Count("unknown_metadata", Clean(attribute.name));
    }
  }
  decoder.Finish(out);
  return out;
}

tl::unexpected<Error> LaterFormat(const std::string& path, std::int64_t format) {
  return BadInput(fmt::format("{}: written in format {} by a later Reprise; this one reads {}",
                              path, format, kFormatVersion));
}

}  // namespace reprise
