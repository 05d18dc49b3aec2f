// Which sends and recvs do not match, and how: each receiving rank compares the digests of what
// the others send to it, and requests those that differ.
#include <algorithm>

#include "collectives/layout.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/matched_group.h"
#include "collectives/matching/plan_codec.h"
#include "collectives/matching/sequence_check.h"

namespace reprise {
namespace {

using Words = GroupRounds::Words;
using Transfers = std::vector<PlannedTransfer*>;

// From (`in`) or to the member at `position`; null: nothing.
const Transfers* Between(const MatchedGroup& group, bool in, std::size_t position) {
  const GroupPlace& place = group.member->place;
  const std::int32_t me = place.ranks[static_cast<std::size_t>(place.rank)];
  const std::int32_t other = place.ranks[position];
  const auto it = group.pairs.find(
      {.group = group.member->id, .source = in ? other : me, .destination = in ? me : other});
  return it == group.pairs.end() ? nullptr : &it->second;
}

// 0 for none, so that silence on both sides matches.
std::int64_t DigestOf(const Transfers* transfers) {
  std::vector<std::int64_t> words;
  for (std::size_t n = 0; transfers != nullptr && n < transfers->size(); ++n) {
    words.push_back(PairClaimOf((*transfers)[n]->spec, n, 0, 0));
  }
  return words.empty() ? 0 : HashOf(words);
}

void Compare(const MatchedGroup& group, int from, const std::string& text,
             std::vector<Finding>& findings) {
  const GroupPlace& place = group.member->place;
  const auto position = static_cast<std::size_t>(from);
  const SequenceKey key{.group = group.member->id,
                        .source = place.ranks[position],
                        .destination = place.ranks[static_cast<std::size_t>(place.rank)]};
  const auto theirs = DecodeTransfers(text);
  if (!theirs) {
    findings.push_back({key, 0, 0, theirs.error().message});
    return;
  }
  std::map<std::int32_t, MemberSequence> parts;
  MemberSequence& source = parts[key.source];
  source.length = theirs->size();
  for (const PlannedTransfer& planned : *theirs) {
    source.known.push_back(&planned);
  }
  if (const Transfers* mine = Between(group, true, position)) {
    parts[key.destination] = {.length = mine->size(), .known = {mine->begin(), mine->end()}};
  }
  if (auto mismatch = CheckSequence(key, parts, place.ranks, place.ranks)) {
    findings.push_back({key, mismatch->position, 0, std::move(mismatch->text)});
  }
}

}  // namespace

Status MatchPairs(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                  std::vector<Finding>& findings) {
  std::vector<Words> digests(groups.size());
  std::vector<Words> wanted(groups.size());
  std::vector<bool> takes_part(groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    takes_part[k] = groups[k].pairs_differ;
    const auto size = static_cast<std::size_t>(groups[k].member->place.size());
    for (std::size_t to = 0; takes_part[k] && to < size; ++to) {
      digests[k].push_back(DigestOf(Between(groups[k], false, to)));
    }
  }
  REPRISE_ASSIGN(const std::vector<Words> theirs, rounds.AllToAll(digests));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    for (std::size_t from = 0; from < theirs[k].size(); ++from) {
      const bool differs = theirs[k][from] != DigestOf(Between(groups[k], true, from));
      wanted[k].push_back(differs ? 1 : 0);
    }
  }
  REPRISE_ASSIGN(const std::vector<Words> asked, rounds.AllToAll(wanted));
  std::vector<GroupRounds::Parcels> parcels(groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    for (std::size_t to = 0; to < asked[k].size(); ++to) {
      const Transfers* mine = Between(groups[k], false, to);
      if (asked[k][to] != 0 && mine != nullptr) {
        const std::vector<const PlannedTransfer*> all(mine->begin(), mine->end());
        parcels[k][static_cast<int>(to)] = EncodeTransfers(all, SIZE_MAX);
      }
    }
  }
  REPRISE_ASSIGN(auto arrived, rounds.Deliver(parcels, takes_part));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    for (std::size_t from = 0; from < wanted[k].size(); ++from) {
      if (wanted[k][from] != 0) {
        const int sender = static_cast<int>(from);
        Compare(groups[k], sender, arrived[k][sender], findings);
      }
    }
  }
  return {};
}

}  // namespace reprise
