#include "converters/share/anonymize/renaming.h"

#include <fmt/format.h>

#include <algorithm>

#include "converters/share/anonymize/vocabulary.h"
#include "core/for_each_read.h"
#include "et_schema/io.h"

namespace reprise {
namespace {

void NoteDevice(std::string_view text, RankRenaming& renaming) {
  if (const auto device = ParseDevice(text); device && device->number >= 0) {
    renaming.devices.Note(device->number);
  }
}

void NoteTensors(const ValueList& values, RankRenaming& renaming) {
  for (const Value& value : values) {
    if (const TensorDesc* tensor = value.AsTensor()) {
      if (tensor->IsDefined()) {
        renaming.incarnations.Note(tensor->incarnation);
      }
      NoteDevice(tensor->device, renaming);
    } else if (const ValueList* list = value.AsList()) {
      NoteTensors(*list, renaming);
    } else if (const std::string* text = value.AsString()) {
      NoteDevice(*text, renaming);
    }
  }
}

void NoteNode(const Node& node, RankRenaming& renaming) {
  renaming.ids.emplace_back(node.id, renaming.nodes++);
  if (node.actor.kind == Actor::Kind::kThread) {
    renaming.threads.Note(node.actor.id);
  } else if (node.actor.kind == Actor::Kind::kStream) {
    renaming.streams.Note(node.actor.id);
    renaming.devices.Note(node.actor.device);
  }
  if (node.device_work && node.device_work->correlation >= 0) {
    renaming.correlations.Note(node.device_work->correlation);
  }
  NoteTensors(node.inputs, renaming);
  NoteTensors(node.outputs, renaming);
}

}  // namespace

void DenseNumbers::Seal() {
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  limit_ = std::max(kSmall, 2 * numbers_.size());
}

std::int64_t DenseNumbers::Of(std::int64_t number) const {
  const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), number);
  return at != numbers_.end() && *at == number ? at - numbers_.begin() : -1;
}

Result<RankRenaming> RankRenaming::Read(const std::string& path) {
  REPRISE_ASSIGN(const auto reader, EtReader::OpenAsItStands(path));
  if (!reader->native()) {
    return BadInput(fmt::format(
        "{}: not written by Reprise; `reprise convert` first, which settles what others leave open",
        path));
  }
  RankRenaming renaming;
  renaming.metadata = reader->metadata();
  REPRISE_TRY(ForEachRead<Node>(*reader, [&renaming](const Node& node) -> Status {
    NoteNode(node, renaming);
    return {};
  }));
  for (const Range& range : renaming.metadata.ranges) {
    renaming.threads.Note(range.thread);
  }
  renaming.diagnostics = reader->diagnostics();
  for (const SampledSeries& series : renaming.metadata.samples) {
    renaming.devices.Note(series.device);
  }
  std::sort(renaming.ids.begin(), renaming.ids.end());
  for (DenseNumbers* numbers : {&renaming.incarnations, &renaming.threads, &renaming.streams,
                                &renaming.devices, &renaming.correlations}) {
    numbers->Seal();
  }
  return renaming;
}

std::optional<std::uint64_t> RankRenaming::NewId(std::uint64_t old) const {
  const auto at = std::lower_bound(ids.begin(), ids.end(), std::pair(old, std::uint64_t{0}));
  return at != ids.end() && at->first == old ? std::optional(at->second) : std::nullopt;
}

}  // namespace reprise
