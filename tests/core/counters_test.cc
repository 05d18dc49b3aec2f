#include "core/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

CounterSentence Sentence(const std::string& name, std::int64_t count) {
  return DescribeCounters({{name, count}}).front();
}

TEST(Counters, ReadAsSentences) {
  EXPECT_EQ(Sentence("storage_contradiction", 159).text,
            "159 storage conflicts resolved, harmless");
  EXPECT_EQ(Sentence("storage_contradiction", 1).text, "1 storage conflict resolved, harmless");
  EXPECT_EQ(Sentence("operation_without_time", 2).text,
            "2 operations without a time left out (worth a look)");
  EXPECT_EQ(Sentence("transfer_mismatch", 1).text,
            "1 transfer on which its ranks disagree (changes the reading)");
}

TEST(Counters, TimeCutDecidesTheWeight) {
  const auto of = [](std::int64_t cut_ns) {
    return DescribeCounters(
        {{"stream_overlap", 9}, {"stream_overlap_ns", cut_ns}, {"device_time_ns", 1'000'000}});
  };
  ASSERT_EQ(of(20'000).size(), 1U);
  EXPECT_EQ(of(20'000).front().text,
            "9 starts on streams moved by rounding: 20.0 us, 2 % of the recorded time (changes the "
            "reading)");
  EXPECT_EQ(of(20'000).front().weight, CounterWeight::kChangesReading);
  EXPECT_EQ(of(900).front().text,
            "9 starts on streams moved by rounding: 0.9 us, 0.09 % of the recorded time, harmless");
  EXPECT_EQ(of(900).front().weight, CounterWeight::kHarmless);
}

TEST(Counters, TimeCutOfAnUnknownWholeIsWorthALook) {
  const auto sentences =
      DescribeCounters({{"stream_overlap", 1}, {"stream_overlap_ns", 1'500'000}});
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences.front().text,
            "1 start on a stream moved by rounding: 1.50 ms (worth a look)");
}

TEST(Counters, PlaceAndDetail) {
  const CounterSentence sentence = Sentence("diagnostic.no_kernel: aten::add.Tensor", 3);
  EXPECT_EQ(sentence.name, "no_kernel");
  EXPECT_EQ(sentence.weight, CounterWeight::kChangesReading);
  EXPECT_EQ(sentence.text,
            "3 operations without a kernel, replayed as surrogates: aten::add.Tensor (changes the "
            "reading)");
}

TEST(Counters, NamesOfANewerVersionAreShown) {
  EXPECT_EQ(Sentence("trace.from_the_future", 3).text, "3 times from_the_future");
}

TEST(Counters, WeightiestFirstAndOneSentenceForEachName) {
  const auto sentences = DescribeCounters({{"trace.storage_id_reused", 5},
                                           {"diagnostic.no_kernel: a", 1},
                                           {"diagnostic.no_kernel: b", 2},
                                           {"diagnostic.no_kernel: c", 3},
                                           {"diagnostic.no_kernel: d", 4},
                                           {"diagnostic.no_kernel: e", 5},
                                           {"sampler.missed_tick", 1},
                                           {"trace.dangling_dependency", 1},
                                           {"diagnostic.dangling_dependency", 1}});
  EXPECT_THAT(sentences, ElementsAre(Field(&CounterSentence::name, "no_kernel"),
                                     Field(&CounterSentence::name, "dangling_dependency"),
                                     Field(&CounterSentence::name, "missed_tick"),
                                     Field(&CounterSentence::name, "storage_id_reused")));
  EXPECT_EQ(sentences[0].count, 15);
  EXPECT_THAT(sentences[0].text, HasSubstr(": a, b, c, 2 more (changes"));
  EXPECT_EQ(sentences[1].count, 2);
}

}  // namespace
}  // namespace reprise
