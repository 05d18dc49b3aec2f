#include "replayer/shared_set.h"

#include <numeric>
#include <sstream>

#include "collectives/algorithms/group.h"
#include "collectives/byte_text.h"
#include "collectives/matching/group_rounds.h"
#include "replayer/plan/rank_mapping.h"

namespace reprise {

std::string EncodeSet(const TraceSet& set) {
  ByteWriter writer;
  const auto files = set.RankPaths();
  writer.Put(set.directory, set.name, set.world_size, set.missing, files.size());
  for (const auto& [rank, path] : files) {
    writer.Put(rank, path);
  }
  const auto all_groups = set.Groups();
  writer.Put(all_groups.size());
  for (const auto& [id, group] : all_groups) {
    writer.Put(group.id, group.description, group.ranks);
  }
  return writer.Take();
}

TraceSet DecodeSet(std::string_view text) {
  ByteReader reader(text);
  TraceSet set;
  reader.Read(set.directory, set.name, set.world_size, set.missing);
  for (auto files = reader.Get<std::size_t>(); files > 0 && reader.ok(); --files) {
    const auto rank = reader.Get<std::int32_t>();
    reader.Read(set.files[rank]);
  }
  for (auto groups = reader.Get<std::size_t>(); groups > 0 && reader.ok(); --groups) {
    ProcessGroup group;
    reader.Read(group.id, group.description, group.ranks);
    set.groups[group.id] = std::move(group);
  }
  return set;
}

Result<TraceSet> OpenTogether(Communicator& communicator, const std::string& directory,
                              const PartOptions& part) {
  if (communicator.size() == 1) {
    return OpenChosen(directory, part);
  }
  ByteWriter news;
  if (communicator.rank() == 0) {
    const auto opened = OpenChosen(directory, part);
    news.Put(opened.has_value(), opened ? ErrorKind::kBadInput : opened.error().kind,
             opened ? EncodeSet(*opened) : opened.error().message);
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  std::iota(all.begin(), all.end(), 0);
  GroupMaker maker(communicator, {});
  REPRISE_ASSIGN(const auto comm, maker.Create(all, "all"));
  GroupRounds rounds(communicator,
                     {{"all", {.ranks = all, .rank = communicator.rank()}, comm.get()}});
  // Not moved out of its Result: GCC 12 takes a moved string's bytes for unwritten ones.
  const auto text = rounds.Broadcast(news.Take());
  if (!text) {
    return tl::unexpected(text.error());
  }
  ByteReader reader(*text);
  const bool opened = reader.Get<bool>();
  const auto kind = reader.Get<ErrorKind>();
  const std::string rest = reader.Get<std::string>();
  if (!opened) {
    return Fail(kind, rest);
  }
  return DecodeSet(rest);
}

Result<std::string> HashTogether(Communicator& communicator, const TraceSet& set) {
  std::string mine;  // "<rank> <hash> …"
  Status hashed;
  int turn = 0;
  for (const std::int32_t rank : set.Ranks()) {
    if (turn++ % communicator.size() != communicator.rank() || !hashed) {
      continue;
    }
    if (const auto hash = set.FileHash(rank)) {
      mine += std::to_string(rank) + " " + *hash + " ";
    } else {
      hashed = tl::unexpected<Error>(hash.error());
    }
  }
  REPRISE_ASSIGN(const auto shares, communicator.AllGather(mine));
  REPRISE_TRY(hashed);
  std::map<std::int32_t, std::string> hashes;
  for (const std::string& share : shares) {
    std::istringstream fields(share);
    for (std::int32_t rank = 0; fields >> rank;) {
      fields >> hashes[rank];
    }
  }
  return set.ContentHash(hashes);
}

}  // namespace reprise
