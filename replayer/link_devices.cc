#include "replayer/link_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "collectives/gathered.h"
#include "collectives/layout.h"
#include "core/clock.h"
#include "core/log.h"
#include "replayer/engine/tensor_pieces.h"

namespace reprise {
namespace {

// Members connect in seconds; a network that lets them wait for longer than this is not used.
constexpr std::int64_t kLinkPatienceNs = 60'000'000'000;
constexpr auto kLinkPoll = std::chrono::microseconds(200);

// A transfer that all its members name alike.
using TransferKey = std::pair<SequenceKey, std::int64_t>;
// What differs from a transfer of one piece that is taken: the bytes of each piece; empty: not
// taken.
using Listing = std::map<TransferKey, std::vector<std::int64_t>>;

std::vector<std::int32_t> MembersOf(const SequenceKey& key, const RanksOfGroup& ranks_of) {
  return key.IsPointToPoint() ? std::vector{key.source, key.destination} : ranks_of(key.group);
}

void PutKey(const SequenceKey& key, ByteWriter& out) {
  out.Put(key.group, key.source, key.destination);
}

SequenceKey TakeKey(ByteReader& in) {
  SequenceKey key;
  in.Read(key.group, key.source, key.destination);
  return key;
}

std::vector<std::int64_t> BlockBytes(const TransferLayout& layout,
                                     const std::vector<std::int64_t>& uneven, std::size_t members) {
  return layout.uneven ? uneven : std::vector<std::int64_t>(members, layout.block_bytes);
}

// Nothing where tensors do not hold what the kind moves.
std::optional<DeviceTransfer> TransferOf(const CommSpec& spec, const GroupPlace& place,
                                         TensorPieces pieces) {
  const auto layout = LayoutOf(spec, place);
  if (!layout) {
    return std::nullopt;  // where it is carried out, it says so
  }
  DeviceTransfer transfer{.kind = spec.kind, .dtype = spec.dtype, .op = spec.op};
  transfer.root = HasRoot(spec.kind) ? layout->root : -1;
  if (IsPointToPoint(spec.kind)) {
    transfer.peer = spec.kind == CommKind::kSend ? 1 : 0;  // of source and destination
  }
  const auto take = [](std::vector<DevicePiece>& side, std::int64_t bytes,
                       std::vector<DevicePiece>& to) {
    std::int64_t found = 0;
    for (const DevicePiece& piece : side) {
      found += piece.bytes;
    }
    to = std::move(side);
    return found == bytes;
  };
  if ((layout->in_bytes > 0 && !take(pieces.in, layout->in_bytes, transfer.in)) ||
      (layout->out_bytes > 0 && !take(pieces.out, layout->out_bytes, transfer.out))) {
    return std::nullopt;
  }
  if (HasBlocks(spec.kind) && !IsGathering(spec.kind) && layout->in_bytes > 0) {
    transfer.in_blocks = BlockBytes(*layout, layout->in_blocks, place.ranks.size());
  }
  if (HasBlocks(spec.kind) && !IsScattering(spec.kind) && layout->out_bytes > 0) {
    transfer.out_blocks = BlockBytes(*layout, layout->out_blocks, place.ranks.size());
  }
  return transfer;
}

class DeviceLinker {
 public:
  DeviceLinker(const LinkedWork& work, Communicator& communicator, Device& device)
      : work_(work), communicator_(communicator), device_(device) {}

  // Each collective. Nothing: all ranks go on; else why there are no links, empty where that is no
  // failure.
  Result<std::optional<std::string>> OpenLibrary();
  Result<std::optional<std::string>> ChooseTransfers();
  Result<std::optional<std::string>> Join();
  DeviceLinks Take() { return std::move(links_); }

 private:
  using Why = std::optional<std::string>;
  // Of all ranks the first that failed, with its number.
  Result<Why> FirstFailure(const std::string& mine);
  std::optional<DeviceTransfer> Find(std::size_t k) const;
  Result<std::vector<Listing>> GatherListings(const Listing& mine);
  Result<std::set<SequenceKey>> GatherSequences();
  Result<Why> JoinOne(const SequenceKey& key);
  Result<Why> AwaitMembers(const Status& joined, DeviceGroup* group);

  const LinkedWork& work_;
  Communicator& communicator_;
  Device& device_;
  DeviceLinks links_;
};

Result<DeviceLinker::Why> DeviceLinker::FirstFailure(const std::string& mine) {
  REPRISE_ASSIGN(const auto all, communicator_.AllGather(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) {
      return Why(fmt::format("rank {}: {}", rank, all[rank]));
    }
  }
  return Why();
}

Result<DeviceLinker::Why> DeviceLinker::OpenLibrary() {
  auto opened = device_.OpenTransfers();
  REPRISE_ASSIGN(Why why, FirstFailure(opened ? "" : opened.error().message));
  links_.library = opened ? std::move(*opened) : nullptr;
  const std::string mine = links_.library == nullptr ? "" : links_.library->description();
  REPRISE_ASSIGN(const auto all, communicator_.AllGather(mine));
  if (why) {
    return why;
  }
  if (std::ranges::find(all, "") != all.end()) {
    return Why("");
  }
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) {
      return Why(fmt::format("rank 0 has {}, rank {} has {}", all[0], rank, all[rank]));
    }
  }
  return why;
}

std::optional<DeviceTransfer> DeviceLinker::Find(std::size_t k) const {
  const CommSpec& spec = work_.transfers[k].spec;
  // What waits for such a send may overwrite its tensors before it has ended.
  if (spec.send_end != SendEnd::kReceived || work_.by_messages(spec)) {
    return std::nullopt;
  }
  const auto call = work_.graph.Call(work_.plan.transfers[k]);
  if (!call) {
    return std::nullopt;
  }
  auto pieces = FindTensorPieces(spec, *call, work_.memory);
  if (!pieces) {
    return std::nullopt;
  }
  const RankGroup& group = work_.groups.at(spec.group);
  auto transfer = TransferOf(spec, {group.ranks, group.comm->rank()}, std::move(*pieces));
  const bool pair = IsPointToPoint(spec.kind);
  const int rank = pair ? 1 - (transfer ? transfer->peer : 0) : group.comm->rank();
  const bool takes =
      transfer && links_.library->Takes(*transfer, rank, pair ? 2 : group.comm->size());
  return takes ? std::move(transfer) : std::nullopt;
}

Result<std::vector<Listing>> DeviceLinker::GatherListings(const Listing& mine) {
  ByteWriter writer;
  for (const auto& [key, bytes] : mine) {
    PutKey(key.first, writer);
    writer.Put(key.second, bytes);
  }
  REPRISE_ASSIGN(const auto texts, communicator_.AllGather(writer.Take()));
  std::vector<Listing> listings;
  for (const std::string& text : texts) {
    Listing& listing = listings.emplace_back();
    ByteReader reader(text);
    while (reader.ok() && !reader.AtEnd()) {
      TransferKey key;
      key.first = TakeKey(reader);
      std::vector<std::int64_t> bytes;
      reader.Read(key.second, bytes);
      listing.emplace(std::move(key), std::move(bytes));
    }
  }
  return listings;
}

Result<DeviceLinker::Why> DeviceLinker::ChooseTransfers() {
  Listing mine;
  std::map<Graph::Index, TransferKey> keys;
  for (std::size_t k = 0; k < work_.transfers.size(); ++k) {
    const Graph::Index node = work_.plan.transfers[k];
    const Work& work = work_.plan.work[node];
    const CommSpec& spec = work_.transfers[k].spec;
    if (work.mode != ReplayMode::kReal || work.alone || !work_.groups.contains(spec.group)) {
      continue;
    }
    const TransferKey key{SequenceOf(spec, communicator_.rank()), spec.index};
    auto transfer = Find(k);
    if (!transfer) {
      mine[key] = {};
      continue;
    }
    const auto& pieces = transfer->in.empty() ? transfer->out : transfer->in;
    if (pieces.size() > 1) {
      for (const DevicePiece& piece : pieces) {
        mine[key].push_back(piece.bytes);
      }
    }
    keys.emplace(node, key);
    links_.transfers.emplace(node, std::move(*transfer));
  }
  REPRISE_ASSIGN(const auto listings, GatherListings(mine));
  std::erase_if(links_.transfers, [&](const auto& entry) {
    const TransferKey& key = keys.at(entry.first);
    const auto own = mine.find(key);
    const auto members = MembersOf(key.first, work_.ranks_of);
    return !std::ranges::all_of(members, [&](std::int32_t member) {
      const Listing& listing = listings.at(static_cast<std::size_t>(member));
      const auto theirs = listing.find(key);
      return own == mine.end() ? theirs == listing.end()
                               : theirs != listing.end() && theirs->second == own->second;
    });
  });
  for (const auto& [node, transfer] : links_.transfers) {
    links_.of_sequence[keys.at(node).first];
  }
  return Why();
}

// All ranks' in one order, in which all join: else two could wait for each other.
Result<std::set<SequenceKey>> DeviceLinker::GatherSequences() {
  ByteWriter writer;
  for (const auto& [key, link] : links_.of_sequence) {
    PutKey(key, writer);
  }
  REPRISE_ASSIGN(const auto texts, communicator_.AllGather(writer.Take()));
  std::set<SequenceKey> all;
  for (const std::string& text : texts) {
    ByteReader reader(text);
    while (reader.ok() && !reader.AtEnd()) {
      all.insert(TakeKey(reader));
    }
  }
  return all;
}

// Rounds of all ranks, so that each learns of another's failure.
Result<DeviceLinker::Why> DeviceLinker::AwaitMembers(const Status& joined, DeviceGroup* group) {
  enum class At : std::uint8_t { kConnected, kConnecting, kFailed };
  Status mine = joined;
  const std::int64_t begin_ns = MonotonicNs();
  for (;;) {
    At at = mine ? At::kConnected : At::kFailed;
    if (mine && group != nullptr) {
      const auto ready = group->IsReady();
      mine = ready ? Status() : tl::unexpected<Error>(ready.error());
      if (ready && !*ready && MonotonicNs() - begin_ns > kLinkPatienceNs) {
        mine = EnvironmentError("the other members did not connect");
      }
      at = !mine ? At::kFailed : *ready ? At::kConnected : At::kConnecting;
    }
    REPRISE_ASSIGN(const auto all, GatherValues(communicator_, at));
    if (std::ranges::find(all, At::kFailed) != all.end()) {
      return FirstFailure(mine ? "" : mine.error().message);
    }
    if (std::ranges::find(all, At::kConnecting) == all.end()) {
      return Why();
    }
    std::this_thread::sleep_for(kLinkPoll);
  }
}

Result<DeviceLinker::Why> DeviceLinker::JoinOne(const SequenceKey& key) {
  const auto members = MembersOf(key, work_.ranks_of);
  const auto place = std::ranges::find(members, communicator_.rank()) - members.begin();
  Result<std::string> identity = std::string();
  if (place == 0) {
    identity = links_.library->NewIdentity();
  }
  REPRISE_ASSIGN(const Why why, FirstFailure(identity ? "" : identity.error().message));
  if (why) {
    return why;
  }
  REPRISE_ASSIGN(const auto identities, communicator_.AllGather(*identity));
  const auto link = links_.of_sequence.find(key);
  if (link == links_.of_sequence.end()) {
    return AwaitMembers({}, nullptr);
  }
  const auto join = [&]() -> Status {
    REPRISE_ASSIGN(link->second.stream, device_.CreateStream(false));
    REPRISE_ASSIGN(link->second.group,
                   links_.library->Join(identities.at(static_cast<std::size_t>(members.front())),
                                        static_cast<int>(place), static_cast<int>(members.size())));
    return {};
  };
  const Status joined = join();
  return AwaitMembers(joined, link->second.group.get());
}

Result<DeviceLinker::Why> DeviceLinker::Join() {
  REPRISE_ASSIGN(const auto sequences, GatherSequences());
  if (sequences.empty()) {
    return Why("");
  }
  for (const SequenceKey& key : sequences) {
    REPRISE_ASSIGN(Why why, JoinOne(key));
    if (why) {
      links_.Abort();
      return why;
    }
  }
  return Why();
}

}  // namespace

Result<DeviceLinks> LinkDevices(const LinkedWork& work, Communicator& communicator,
                                Device& device) {
  DeviceLinker linker(work, communicator, device);
  for (const auto step :
       {&DeviceLinker::OpenLibrary, &DeviceLinker::ChooseTransfers, &DeviceLinker::Join}) {
    REPRISE_ASSIGN(const std::optional<std::string> why, (linker.*step)());
    if (why && !why->empty() && communicator.rank() == 0) {
      LogWarning("transfers go through the memory of the hosts: " + *why);
    }
    if (why) {
      return DeviceLinks();
    }
  }
  return linker.Take();
}

}  // namespace reprise
