// Which two members of a collective do not match, and how. All members find out; one reports it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/layout.h"
#include "collectives/matching/fingerprint.h"
#include "collectives/matching/matched_group.h"
#include "collectives/matching/plan_codec.h"
#include "collectives/matching/sequence_check.h"

namespace reprise {
namespace {

using Words = GroupRounds::Words;

constexpr std::int64_t kNobody = INT64_MAX;
constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

// What each member contributes at the first mismatch.
struct Row {
  std::int64_t length = 0;
  std::int64_t fingerprint = 0;
  std::int64_t operation = 0;
  std::int64_t pair = kNobody;  // PairNumber of the first pair with blocks that do not fit
};
constexpr std::size_t kRowWords = 4;

// Two members by position, the lower first.
std::pair<int, int> MembersOf(std::int64_t pair, int size) {
  return {static_cast<int>(pair / size), static_cast<int>(pair % size)};
}
std::int64_t PairNumber(int a, int b, int size) {
  return std::int64_t{std::min(a, b)} * size + std::max(a, b);
}

Row RowOf(const MatchedGroup& group, const Words& blocks_for_me) {
  const std::size_t n = *group.first_mismatch;
  const GroupPlace& place = group.member->place;
  Row row{.length = static_cast<std::int64_t>(group.collectives.size())};
  if (n >= group.collectives.size()) {
    return row;
  }
  const CommSpec& spec = group.collectives[n]->spec;
  row.fingerprint = FingerprintOf(spec);
  row.operation = OperationOf(spec);
  for (std::size_t from = 0; from < blocks_for_me.size(); ++from) {
    if (blocks_for_me[from] != BlockOf(spec, false, from, blocks_for_me.size())) {
      row.pair = std::min(row.pair, PairNumber(static_cast<int>(from), place.rank, place.size()));
    }
  }
  return row;
}

// Positions of the two members that the message is about; the first of them reports it.
std::pair<int, int> Choose(const std::vector<Row>& rows, std::size_t n) {
  const auto find = [&](const auto& wanted) {
    return static_cast<int>(std::ranges::find_if(rows, wanted) - rows.begin());
  };
  const auto has = [n](const Row& row) { return row.length > static_cast<std::int64_t>(n); };
  const auto size = static_cast<int>(rows.size());
  if (const int lacks = find([&](const Row& row) { return !has(row); }); lacks < size) {
    return {find(has), lacks};
  }
  if (const int other = find([&](const Row& row) {
        return row.fingerprint != rows.front().fingerprint ||
               (row.operation != rows.front().operation && row.operation != 0 &&
                rows.front().operation != 0);
      });
      other < size) {
    return {0, other};
  }
  const auto by_pair = [](const Row& a, const Row& b) { return a.pair < b.pair; };
  if (const Row& row = *std::ranges::min_element(rows, by_pair); row.pair != kNobody) {
    return MembersOf(row.pair, size);
  }
  // Recorded operations that differ, though the first member has recorded none.
  const int recorded = find([](const Row& row) { return row.operation != 0; });
  return {recorded, find([&](const Row& row) {
            return row.operation != 0 &&
                   row.operation != rows[static_cast<std::size_t>(recorded)].operation;
          })};
}

std::vector<Row> RowsOf(const Words& words) {
  std::vector<Row> rows;
  for (std::size_t at = 0; at < words.size(); at += kRowWords) {
    rows.push_back({words[at], words[at + 1], words[at + 2], words[at + 3]});
  }
  return rows;
}

MemberSequence Part(const std::vector<PlannedTransfer*>& transfers) {
  return {.length = transfers.size(), .known = {transfers.begin(), transfers.end()}};
}

// Reported by the first of the two; `theirs`: the other's transfers from the mismatch on.
Finding FindingOf(const MatchedGroup& group, const std::vector<Row>& rows,
                  std::pair<int, int> members, const std::vector<PlannedTransfer>& theirs) {
  const std::size_t n = *group.first_mismatch;
  const std::vector<std::int32_t> ranks(group.member->place.ranks.begin(),
                                        group.member->place.ranks.end());
  const SequenceKey key{.group = group.member->id};
  const auto rank = [&](int member) { return ranks[static_cast<std::size_t>(member)]; };
  const MemberSequence mine = Part(group.collectives);
  const SequenceMember me{rank(members.first), mine};
  const auto length =
      static_cast<std::size_t>(rows[static_cast<std::size_t>(members.second)].length);
  std::string text;
  if (length <= n) {
    text = MissingText(key, n, me, rank(members.second), length);
  } else {
    MemberSequence part{.length = length, .first = n};
    for (const PlannedTransfer& planned : theirs) {
      part.known.push_back(&planned);
    }
    const bool itself = members.first == members.second;
    text = DifferenceText(key, n, me, {rank(members.second), itself ? mine : part}, ranks);
  }
  if (text.empty()) {  // by the hashes it has to be there
    text = fmt::format("group '{}', collective {}: rank {} and rank {} differ", key.group, n,
                       rank(members.first), rank(members.second));
  }
  return {key, n, 0, WithRest(n, std::move(text), group.longest).text};
}

}  // namespace

Status MatchCollectives(GroupRounds& rounds, const std::vector<MatchedGroup>& groups,
                        std::vector<Finding>& findings) {
  std::vector<Words> blocks(groups.size());
  std::vector<Words> words(groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const auto size = static_cast<std::size_t>(groups[k].member->place.size());
    for (std::size_t to = 0; groups[k].only_blocks && to < size; ++to) {
      const CommSpec& spec = groups[k].collectives[*groups[k].first_mismatch]->spec;
      blocks[k].push_back(BlockOf(spec, true, to, size));
    }
  }
  REPRISE_ASSIGN(const std::vector<Words> blocks_for_me, rounds.AllToAll(blocks));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (groups[k].first_mismatch) {
      const Row row = RowOf(groups[k], blocks_for_me[k]);
      words[k] = {row.length, row.fingerprint, row.operation, row.pair};
    }
  }
  REPRISE_ASSIGN(const std::vector<Words> all, rounds.AllGather(words));
  std::vector<std::pair<int, int>> members(groups.size());
  std::vector<GroupRounds::Parcels> parcels(groups.size());
  std::vector<bool> takes_part(groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (!groups[k].first_mismatch) {
      continue;
    }
    takes_part[k] = true;
    const std::size_t n = *groups[k].first_mismatch;
    members[k] = Choose(RowsOf(all[k]), n);
    const auto& [reporter, other] = members[k];
    if (groups[k].member->place.rank == other && other != reporter &&
        n < groups[k].collectives.size()) {
      const std::span<PlannedTransfer* const> rest = std::span(groups[k].collectives).subspan(n);
      const std::vector<const PlannedTransfer*> window(
          rest.begin(),
          rest.begin() + static_cast<std::ptrdiff_t>(std::min(rest.size(), kOrderLookAhead)));
      parcels[k][reporter] = EncodeTransfers(window, kWindowBytes);
    }
  }
  REPRISE_ASSIGN(auto arrived, rounds.Deliver(parcels, takes_part));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (takes_part[k] && groups[k].member->place.rank == members[k].first) {
      const auto theirs = DecodeTransfers(arrived[k][members[k].second]);
      findings.push_back(
          theirs ? FindingOf(groups[k], RowsOf(all[k]), members[k], *theirs)
                 : Finding{{.group = groups[k].member->id}, 0, 0, theirs.error().message});
    }
  }
  return {};
}

}  // namespace reprise
