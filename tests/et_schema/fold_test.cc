// Folded captures: messages taken apart and put together, sets folded and read back, and what is
// wrong with their files.
#include "et_schema/fold.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "core/input_file.h"
#include "et_schema/folded_set.h"
#include "et_schema/message_forms.h"
#include "et_schema/wire.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// What the parts of a message give.
std::string Together(std::string_view message) {
  std::string key;
  std::vector<std::int64_t> numbers;
  SplitMessage(message, key, numbers);
  MessageForm form;
  EXPECT_TRUE(MessageForm::Parse(key, form));
  EXPECT_EQ(form.kinds().size(), numbers.size());
  std::string buffer;
  return std::string(form.Join(numbers.data(), buffer));
}

TEST(MessageForms, PartsGiveTheMessage) {
  RandomNodes nodes(7);
  for (int i = 0; i < 2000; ++i) {
    std::string encoded;
    ASSERT_TRUE(EncodeNode(nodes.Next(), 0, encoded));
    WireCursor cursor(encoded);
    std::string_view message;
    ASSERT_TRUE(cursor.Bytes(message));
    ASSERT_EQ(Together(message), message);
  }
}

TEST(MessageForms, AnyBytesAreKept) {
  RandomNodes nodes(8);
  std::mt19937_64 random(9);
  for (int i = 0; i < 2000; ++i) {
    std::string encoded;
    ASSERT_TRUE(EncodeNode(nodes.Next(), 0, encoded));
    encoded.resize(random() % encoded.size() + 1);
    for (int changes = 0; changes < 3; ++changes) {
      encoded[random() % encoded.size()] = static_cast<char>(random());
    }
    ASSERT_EQ(Together(encoded), encoded);
  }
  EXPECT_EQ(Together(""), "");
}

TEST(MessageForms, AnyKeyIsReadOrRefused) {
  std::mt19937_64 random(10);
  for (int i = 0; i < 20'000; ++i) {
    std::string key(random() % 24, '\0');
    for (char& byte : key) {
      byte = static_cast<char>(random() % (random() % 2 == 0 ? 6 : 256));
    }
    MessageForm form;
    if (MessageForm::Parse(key, form)) {
      const std::vector<std::int64_t> numbers(form.kinds().size(), -1);
      std::string buffer;
      static_cast<void>(form.Join(numbers.data(), buffer));
    }
  }
}

// Ranks of one program: with other times, some nodes more or less, some in another order.
class FoldedCaptures : public testing::Test {
 protected:
  static constexpr std::int32_t kRanks = 6;

  void SetUp() override {
    fs::create_directory(set_);
    fs::create_directory(folded_);
    std::mt19937_64 random(11);
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      RandomNodes nodes(rank == kRanks - 1 ? 99 : 12);  // the last has another program
      std::vector<Node> of_rank;
      for (int i = 0; i < 400; ++i) {
        Node node = nodes.Next();
        if (rank > 0 && random() % 50 == 0 && !of_rank.empty()) {
          continue;
        }
        std::erase_if(node.deps, [&](const Dependency& dep) {
          return std::ranges::none_of(of_rank,
                                      [&](const Node& other) { return other.id == dep.node_id; });
        });
        node.duration_ns += static_cast<std::int64_t>(random() % 1000) * rank;
        node.delay_ns += static_cast<std::int64_t>(random() % 100) * rank;
        of_rank.push_back(std::move(node));
        if (of_rank.size() > 1 && random() % 40 == 0 && of_rank.back().deps.empty()) {
          std::swap(of_rank.back(), of_rank[of_rank.size() - 2]);
        }
      }
      TraceMetadata metadata;
      metadata.rank = rank;
      metadata.world_size = kRanks;
      metadata.base_ns = 1000 + rank;
      ASSERT_TRUE(WriteTrace(PathIn(set_, rank), of_rank, metadata));
    }
    ASSERT_TRUE(WriteGroups(set_, {{"0", {.id = "0", .ranks = {0, 1, 2, 3, 4, 5}}}}));
  }

  static std::string PathIn(const std::string& directory, std::int32_t rank) {
    return directory + "/job." + std::to_string(rank) + ".et";
  }
  void Fold() {
    const auto set = TraceSet::Open(set_);
    ASSERT_TRUE(set) << set.error().message;
    const auto summary = FoldInto(*set, folded_, set->name);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->ranks, kRanks);
    EXPECT_EQ(summary->classes, 2);
    EXPECT_LT(summary->bytes_after, summary->bytes_before);
    fs::copy(set_ + "/comm_groups_info.json", folded_ + "/comm_groups_info.json");
    fs::copy(set_ + "/comm_groups.json", folded_ + "/comm_groups.json");
  }
  [[nodiscard]] std::string Times() const { return folded_ + "/job.class0.times"; }
  [[nodiscard]] std::string Json() const { return folded_ + "/folded.json"; }
  // Why a rank cannot be read; empty: it can be, and is what it was.
  [[nodiscard]] std::string Reading(std::int32_t rank) const {
    const auto nodes = ReadTrace(PathIn(folded_, rank));
    if (!nodes) {
      EXPECT_EQ(nodes.error().kind, ErrorKind::kBadInput);
      return nodes.error().message;
    }
    EXPECT_EQ(*nodes, *ReadTrace(PathIn(set_, rank)));
    return "";
  }
  [[nodiscard]] std::string Opening() const {
    const auto set = TraceSet::Open(folded_);
    return set ? "" : set.error().message;
  }

  ScratchDirectory scratch_;
  std::string set_ = scratch_.File("set"), folded_ = scratch_.File("folded");
};

TEST_F(FoldedCaptures, RanksAreReadAsTheyWere) {
  Fold();
  const auto before = TraceSet::Open(set_);
  const auto after = TraceSet::Open(folded_);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->Ranks(), before->Ranks());
  EXPECT_EQ(after->folded->classes().size(), 2);
  EXPECT_EQ(*after->ContentHash(), *before->ContentHash());
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(Reading(rank), "");
    EXPECT_EQ((*EtReader::Open(after->RankPath(rank)))->metadata().base_ns, 1000 + rank);
    EXPECT_TRUE(ValidateFile(after->RankPath(rank)).errors.empty());
  }
  const std::string expanded = scratch_.File("expanded");
  fs::create_directory(expanded);
  ASSERT_TRUE(ExpandInto(*after, expanded, "job"));
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ReadFile(PathIn(expanded, rank)), ReadFile(PathIn(set_, rank)));
  }
  const auto again = FoldInto(*after, expanded, "job");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("folded set already"));
  EXPECT_THAT(ExpandInto(*before, expanded, "job").error().message, HasSubstr("no folded set"));
}

TEST_F(FoldedCaptures, DamageIsFound) {
  Fold();
  const std::string good = ReadFile(Times());
  std::mt19937_64 random(13);
  int refused = 0;
  for (int i = 0; i < 120; ++i) {
    std::string bad = good;
    if (i % 2 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % bad.size()] ^= static_cast<char>(1U << random() % 8);
    }
    WriteFile(Times(), bad);
    for (const std::int32_t rank : {0, 3}) {
      const std::string why = Reading(rank);
      refused += why.empty() ? 0 : 1;
      EXPECT_TRUE(why.empty() || why.find("job.class0.times: ") != std::string::npos) << why;
      EXPECT_TRUE(why.empty() || why.find("byte ") != std::string::npos) << why;
    }
  }
  EXPECT_GT(refused, 40);
}

// With a sound zstd frame around them: only a program makes such records.
TEST_F(FoldedCaptures, TimesOfAnotherClassAreRefused) {
  Fold();
  const std::string times = ReadFile(Times());
  fs::copy_file(folded_ + "/job.class1.et.zst", folded_ + "/job.class0.et.zst",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(Reading(1), "");
  EXPECT_NE(Reading(1), "");
  std::string ranks = times;
  ranks[12] = 4;
  WriteFile(Times(), ranks);
  EXPECT_THAT(Reading(1), HasSubstr("times of 4 ranks at byte 12, expected 5"));
  std::string version = times;
  version[8] = 9;
  WriteFile(Times(), version);
  EXPECT_THAT(Reading(1), HasSubstr("version 9 at byte 8"));
  WriteFile(Times(), "no times");
  EXPECT_THAT(Reading(1), HasSubstr("truncated: ends at byte 8, expected 16"));
}

TEST_F(FoldedCaptures, AHugeRecordIsRefused) {
  Fold();
  std::string times = ReadFile(Times());
  std::uint64_t begin = 0;
  std::memcpy(&begin, times.data() + 16, sizeof(begin));  // where the second record begins
  const char frame[] = "\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x0f";  // 2^60 bytes
  times.replace(begin, sizeof(frame) - 1, frame, sizeof(frame) - 1);
  WriteFile(Times(), times);
  EXPECT_THAT(Reading(1), HasSubstr("--limits bytes="));
}

TEST_F(FoldedCaptures, WrongListsAreRefused) {
  Fold();
  const std::string good = ReadFile(Json());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    WriteFile(Json(), text);
    return Opening();
  };
  EXPECT_THAT(with("\"0-4\"", "\"0-5\""), HasSubstr("rank 5 is in two classes"));
  EXPECT_THAT(with("\"0-4\"", "\"0-3\""), HasSubstr("times of 5 ranks at byte 12, expected 4"));
  EXPECT_THAT(with("\"0-4\"", "\"0-99999999\""), HasSubstr("--limits ranks="));
  EXPECT_THAT(with("\"0-4\"", "\"4-0\""), HasSubstr("expected ranks as in"));
  EXPECT_THAT(with("\"0-4\"", ""), HasSubstr("class of job.class0.et.zst: no ranks"));
  EXPECT_THAT(with("\"version\": 1", "\"version\": 2"), HasSubstr("reads version 1"));
  EXPECT_THAT(with("reprise-folded", "other"), HasSubstr("\"format\" is not"));
  EXPECT_THAT(with("job.class1.times", "job.class0.times"), HasSubstr("two classes have the file"));
  EXPECT_THAT(with("job.class1.times", "../job.times"), HasSubstr("in the same directory"));
  // A class's file that would be a rank's again.
  EXPECT_THAT(with("job.class0.et.zst", "job.0.et"), HasSubstr("folded.json names it"));
  EXPECT_THAT(with("}", "]"), HasSubstr("folded.json"));
  WriteFile(Json(), good);
  EXPECT_EQ(Opening(), "");
  fs::remove(Times());
  EXPECT_THAT(Reading(1), HasSubstr("job.class0.times: cannot be opened"));
  WriteFile(PathIn(folded_, 2), ReadFile(PathIn(set_, 2)));
  EXPECT_THAT(Opening(), HasSubstr("expected one or the other"));
}

}  // namespace
}  // namespace reprise
