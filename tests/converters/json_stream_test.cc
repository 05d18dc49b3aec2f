// The streaming reader against the one that has all of the text in memory.
#include "converters/json_stream.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

// Text that comes in pieces of any size.
class Dripping final : public TextSource {
 public:
  Dripping(std::string_view text, std::size_t most)
      : TextSource("file"), rest_(text), most_(most) {}

  Result<std::size_t> Read(char* to, std::size_t most) override {
    const std::size_t size = std::min(
        {most, rest_.size(), std::size_t{1} + static_cast<std::size_t>(random_()) % most_});
    std::copy_n(rest_.begin(), size, to);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
  std::size_t most_;
  std::minstd_rand random_{1};
};

struct Element {
  std::string text;
  std::size_t at_byte = 0;
  bool operator==(const Element&) const = default;
};
struct Reading {
  std::string error;  // empty: none
  std::vector<Element> elements;
  std::vector<std::pair<std::string, std::string>> members;
};

Reading ReadStreaming(const std::string& text, std::size_t piece) {
  Reading out;
  Dripping source(text, piece);
  const auto frame = StreamObject(
      source, "list",
      [&](const JsonBatch& batch, simdjson::dom::parser& parser) -> Result<std::function<void()>> {
        std::vector<Element> part;
        REPRISE_TRY(VisitElements(batch, parser,
                                  [&](simdjson::dom::element root, std::size_t index,
                                      ElementPlaces& places, bool) -> Status {
                                    part.push_back({simdjson::minify(root), places.AtByte(index)});
                                    return {};
                                  }));
        return [&out, part] { out.elements.insert(out.elements.end(), part.begin(), part.end()); };
      });
  if (!frame || frame->element_error) {
    out.error = frame ? frame->element_error->message : frame.error().message;
    return out;
  }
  for (const auto& [key, raw] : frame->json.members) {
    out.members.emplace_back(key, raw[0] == '[' ? "[]" : raw);  // arrays are left out
  }
  return out;
}

Reading ReadWhole(const std::string& text) {
  Reading out;
  const TextFile file = TextFile::FromText("file", text);
  const auto json = SplitObject(file, "list");
  if (!json) {
    out.error = json.error().message;
    return out;
  }
  simdjson::dom::parser parser;
  for (const std::string_view raw : json->elements) {
    const auto root = ParseElement(parser, file, raw);
    if (!root) {
      out.error = root.error().message;
      return out;
    }
    out.elements.push_back({simdjson::minify(*root), file.OffsetOf(raw)});
  }
  for (const auto& [key, raw] : json->members) {
    out.members.emplace_back(key, raw[0] == '[' ? "[]" : raw);  // arrays are left out
  }
  return out;
}

void ExpectSame(const std::string& text, std::size_t piece) {
  const Reading expected = ReadWhole(text);
  const Reading got = ReadStreaming(text, piece);
  EXPECT_EQ(got.error, expected.error) << text.substr(0, 400);
  if (expected.error.empty()) {
    EXPECT_TRUE(got.elements == expected.elements) << text.substr(0, 400);
    EXPECT_EQ(got.members, expected.members);
  }
}

constexpr std::string_view kSmall =
    "{ \"a\": 1,\"s\":\"x]}\\\"\\\\\", \"list\" :[ {\"n\": \"a\\\\\\\"],[{\", \"l\": [1, [2, "
    "{}]]},\n"
    "3, \"t\\\\\", [ ], null,{\"x\":-Infinity} ] , \"o\": {\"list\": [1]}, \"list\": [true], "
    "\"z\":0 "
    "}\n ";

TEST(JsonStream, SmallText) {
  ExpectSame(std::string(kSmall), 1);
  ASSERT_EQ(ReadWhole(std::string(kSmall)).elements.size(), 7U);
}

// Cut short anywhere, and with any byte made another: the same message, with the same byte.
TEST(JsonStream, DamagedAnywhere) {
  for (std::size_t i = 0; i <= kSmall.size(); ++i) {
    ExpectSame(std::string(kSmall.substr(0, i)), 7);
    for (const char c : {',', ']', '}', ' ', 'x', '"'}) {
      std::string text(kSmall);
      text.insert(i, 1, c);
      ExpectSame(text, 1000);
    }
  }
}

TEST(JsonStream, OtherShapes) {
  for (const char* text : {"", " ", "[1, 2]", "[]x", "x", "{}", "{} {}", "{}\n\n{",
                           "{\"list\": []}", "{\"list\":[ \n]}", "{\"list\": {}}",
                           "{\"list\": [1,]}", "{\"list\": [,1]}", "{\"list\": [1,,2]}",
                           "{\"list\": [1 2]}", "{\"list\": [1}", "{\"list\": [1]} {\"list\": [2]}",
                           "{\"list\" [1]}", "{\"x\": [1, \"]\"], \"list\": [1]}"}) {
    const Reading whole = ReadWhole(text);
    const Reading streaming = ReadStreaming(text, 1000);
    EXPECT_EQ(streaming.error, whole.error) << text;
    EXPECT_TRUE(!whole.error.empty() || streaming.elements == whole.elements) << text;
  }
}

// Many batches; strings full of what could be structure; one element larger than a batch.
std::string LargeText(unsigned seed, bool huge) {
  std::mt19937 random(seed);
  std::string text = R"({"first": {"a": "[{\"\\"}, "list": [)";
  for (int i = 0; text.size() < 2'000'000; ++i) {
    std::string name;
    for (unsigned left = random() % 200; left > 0; --left) {
      constexpr std::string_view kPieces[] = {"\\\\", "\\\"", "[", "]", "{", "}", ",", "a", " "};
      name += kPieces[random() % std::size(kPieces)];
    }
    text += fmt::format("{}{{\"name\": \"{}\",\n \"args\": {{\"l\": [{}, [{}]]}}}}",
                        i == 0 ? "" : ", ", name, random() % 100, random() % 1000);
    if (huge && i == 1000) {
      text += ", \"" + std::string(900'000, ']') + "\"";
    }
  }
  return text + R"(], "last": "x"})";
}

TEST(JsonStream, ManyBatches) {
  ExpectSame(LargeText(1, false), 1 << 20);
  ExpectSame(LargeText(2, true), 70'000);
}

TEST(JsonStream, DamageFarInside) {
  const std::string good = LargeText(3, false);
  const auto damaged = [&](std::size_t near, std::string_view with) {
    std::string text = good;
    const std::size_t at = text.find("}, {\"name\"", near);
    return text.replace(at + 1, 1, with);
  };
  ExpectSame(damaged(1'500'000, ""), 1 << 20);       // no comma
  ExpectSame(damaged(1'500'000, ",,"), 1 << 20);     // one too many
  ExpectSame(damaged(1'500'000, ",nul,"), 1 << 20);  // an element that is none
  ExpectSame(damaged(1'500'000, ",NaN,"), 1 << 20);  // patched
  ExpectSame(damaged(1'500'000, "],"), 1 << 20);     // the array ends early
  ExpectSame(good.substr(0, 1'700'000), 1 << 20);
  ExpectSame(good + good, 1 << 20);
  // Structure comes before contents, wherever it is; the first of each counts.
  std::string both = damaged(300'000, ",nul,");
  const std::size_t late = both.find("}, {\"name\"", 1'800'000);
  ExpectSame(both.replace(late + 1, 1, ""), 1 << 20);
  std::string twice = damaged(300'000, ",nul,");
  const std::size_t second = twice.find("}, {\"name\"", 900'000);
  ExpectSame(twice.replace(second + 1, 1, ",nil,"), 1 << 20);
}

std::string KinetoText(bool base_first, std::string_view event_members) {
  const std::string base =
      R"("baseTimeNanoseconds": 1000, "distributedInfo": {"rank": 3, "world_size": 4})";
  std::string events = R"("traceEvents": [)";
  for (int i = 0; i < 5000; ++i) {
    events += fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": {}, "dur": 2.5,
           "args": {{"Record function id": {}}}}},)",
        i * 3, i);
    events += R"({"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1},)";
  }
  events += fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "aten::mm"{}}}])", event_members);
  return base_first ? "{" + base + ", " + events + "}" : "{" + events + ", " + base + "}";
}

TEST(JsonStream, BaseTimeBeforeAndAfter) {
  for (const bool base_first : {true, false}) {
    Diagnostics diagnostics;
    const std::string text = KinetoText(base_first, R"(, "ts": 1, "dur": 0)");
    Dripping source(text, 300'000);
    const auto trace = pytorch::ReadKineto(source, false, diagnostics);
    ASSERT_TRUE(trace) << trace.error().message;
    ASSERT_EQ(trace->events.size(), 5001U);
    EXPECT_EQ(trace->rank, 3);
    EXPECT_EQ(trace->process, 7);
    for (std::size_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(trace->events[i].rf_id, static_cast<std::int64_t>(i));
      ASSERT_EQ(trace->events[i].start_ns, 1000 + static_cast<std::int64_t>(i) * 3000);
      ASSERT_EQ(trace->events[i].end_ns, trace->events[i].start_ns + 2500);
    }
  }
}

TEST(JsonStream, EventWithoutTimeNamesItsByte) {
  Diagnostics diagnostics;
  const std::string text = KinetoText(false, "");
  Dripping source(text, 300'000);
  ASSERT_TRUE(pytorch::ReadKineto(source, false, diagnostics));
  const auto counters = diagnostics.Snapshot();
  const auto& counter = counters.at("kineto_event_without_time");
  EXPECT_EQ(counter.count, 1U);
  EXPECT_EQ(counter.examples.at(0), fmt::format("file: byte {}", text.rfind("{\"ph\"")));
}

TEST(JsonStream, SwappedFilesAreNamed) {
  Diagnostics diagnostics;
  const std::string text = KinetoText(true, "");
  Dripping source(text, 1000);
  const auto host = pytorch::ReadHostTrace(source, diagnostics);
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().message, HasSubstr("are the two swapped?"));
}

}  // namespace
}  // namespace reprise
