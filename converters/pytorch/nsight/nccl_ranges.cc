#include "converters/pytorch/nsight/nccl_ranges.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kPrefix = "nccl";

// A blob begins with four of these: domain, schema, size of the payload, and where it begins.
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kBlobHeadBytes = 4 * kWordBytes;

std::uint64_t Unsigned(std::string_view bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = std::min(bytes.size(), kWordBytes); i-- > 0;) {
    out = out << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return out;
}

// The labels that NCCL gives its fields (src/include/nvtx_payload_schemas.h).
std::optional<std::int64_t> NcclPayload::*MemberOf(std::string_view label) {
  const std::string lower = LowerCase(label);
  const auto begins = [&lower](std::string_view text) { return lower.starts_with(text); };
  return begins("nccl communicator id") ? &NcclPayload::communicator
         : begins("message size")       ? &NcclPayload::bytes
         : begins("no. of ranks")       ? &NcclPayload::members
         : begins("peer rank")          ? &NcclPayload::peer
         : begins("root")               ? &NcclPayload::root
         : lower == "rank"              ? &NcclPayload::rank
                                        : nullptr;
}

}  // namespace

Result<NcclPayloads> NcclPayloads::Read(NsightTables& tables) {
  constexpr std::string_view kEntries = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
  NcclPayloads out;
  REPRISE_ASSIGN(Statement rows,
                 tables.Select(kEntries, {"domainId", "schemaId", "name", "offset"}));
  for (;;) {
    REPRISE_ASSIGN(const bool more, rows.Next());
    if (!more) {
      break;
    }
    const auto id = [&rows](int column) { return static_cast<std::uint64_t>(rows.Int(column)); };
    // The first has no offset.
    out.fields_[{id(0), id(1)}].push_back({.offset = id(3), .member = MemberOf(rows.View(2))});
  }
  for (auto& [schema, fields] : out.fields_) {
    std::ranges::stable_sort(fields, {}, &Field::offset);
    // A schema is there once for each process.
    const auto same = [](const Field& one, const Field& other) {
      return one.offset == other.offset;
    };
    fields.erase(std::unique(fields.begin(), fields.end(), same), fields.end());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::uint64_t end =
          i + 1 < fields.size() ? fields[i + 1].offset : fields[i].offset + kWordBytes;
      fields[i].bytes = std::min<std::uint64_t>(end - fields[i].offset, kWordBytes);
    }
  }
  return out;
}

NcclPayload NcclPayloads::Decode(std::string_view blob) const {
  NcclPayload out;
  if (blob.size() < kBlobHeadBytes) {
    return out;
  }
  const auto word = [blob](std::size_t i) { return Unsigned(blob.substr(i * kWordBytes)); };
  const auto fields = fields_.find({word(0), word(1)});
  const std::uint64_t bytes = word(2);
  const std::uint64_t at = word(3);
  if (fields == fields_.end() || at < kBlobHeadBytes || at > blob.size() ||
      bytes > blob.size() - at) {
    return out;
  }
  const std::string_view payload = blob.substr(at, bytes);
  for (const Field& field : fields->second) {
    if (field.member != nullptr && field.offset < payload.size()) {
      const std::string_view value = payload.substr(field.offset, field.bytes);
      out.*field.member = static_cast<std::int64_t>(Unsigned(value));
    }
  }
  return out;
}

Result<NcclCommunicators> FindCommunicators(NsightTables& tables) {
  NcclCommunicators out;
  REPRISE_ASSIGN(const NcclPayloads payloads, NcclPayloads::Read(tables));
  if (payloads.empty()) {
    return out;
  }
  REPRISE_ASSIGN(Statement rows, tables.Select("NVTX_EVENTS", {"globalTid", "binaryData"},
                                               tables.HasColumn("NVTX_EVENTS", "binaryData")
                                                   ? "binaryData IS NOT NULL"
                                                   : "0"));
  for (;;) {
    REPRISE_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return out;
    }
    const NcclPayload payload = payloads.Decode(rows.Bytes(1));
    const bool begins = payload.communicator && payload.members && payload.rank;
    if (begins && *payload.rank >= 0 && *payload.rank < *payload.members) {
      NcclCommunicator& communicator = out[*payload.communicator];
      communicator.members = *payload.members;
      communicator.processes[*payload.rank] = ProcessOfThread(rows.Int(0));
    }
  }
}

std::optional<CommKind> NcclCallKind(std::string_view range) {
  if (!range.starts_with(kPrefix) || range.size() == kPrefix.size()) {
    return std::nullopt;
  }
  const std::string_view call = range.substr(kPrefix.size());
  if (call.front() < 'A' || call.front() > 'Z') {
    return std::nullopt;  // "nccl:all_reduce" is PyTorch's
  }
  return call == "Bcast" ? CommKind::kBroadcast : ParseCommKind(call);
}

}  // namespace reprise::pytorch
