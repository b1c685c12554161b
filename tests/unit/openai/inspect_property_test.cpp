// Random bodies against a reference that builds a tree and counts in the plainest way.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <vector>

#include "base/random.hpp"
#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

/// A JSON text under construction together with what the reference expects of it.
class generator {
public:
    explicit generator(std::uint64_t seed) : x_random(seed) {}

    struct text {
        std::string json;     // with quotes
        std::int64_t weight;  // quarter tokens of its content
    };

    text string() {
        text out{"\"", 0};
        const std::uint64_t size =
            x_random.chance(1, 20) ? x_random.below(400) : x_random.below(12);
        for (std::uint64_t i = 0; i < size; ++i) {
            switch (x_random.below(10)) {
                case 0:
                    out.json += "日";
                    out.weight += 4;
                    break;
                case 1:
                    out.json += R"(\u65e5)";
                    out.weight += 4;
                    break;
                case 2:
                    out.json += R"(\n)";
                    out.weight += 1;
                    break;
                case 3:
                    out.json += R"(\ud83d\ude00)";
                    out.weight += 4;
                    break;
                case 4:
                    out.json += "é";
                    out.weight += 2;
                    break;
                case 5:
                    out.json += R"(\")";
                    out.weight += 1;
                    break;
                default:
                    out.json += static_cast<char>('a' + x_random.below(26));
                    out.weight += 1;
            }
        }
        out.json += '"';
        return out;
    }

    std::string space() {
        static constexpr std::string_view kinds[] = {"", "", "", " ", "\n", "\r\n\t"};
        return std::string(kinds[x_random.below(std::size(kinds))]);
    }

    /// Any value; nothing in it counts.
    std::string anything(int depth = 0) {
        const std::uint64_t pick = x_random.below(depth > 4 ? 5 : 8);
        if (pick < 2) {
            return string().json;
        }
        if (pick < 5) {
            static constexpr std::string_view bare[] = {
                "null", "true", "false", "0", "-1.5e+3", "12"
            };
            return std::string(bare[x_random.below(std::size(bare))]);
        }
        const bool object = pick == 5;
        std::string out(1, object ? '{' : '[');
        for (std::uint64_t i = 0, count = x_random.below(4); i < count; ++i) {
            out += (i == 0 ? "" : ",") + space();
            out += object ? string().json + space() + ":" + space() : "";
            out += anything(depth + 1) + space();
        }
        return out + (object ? '}' : ']');
    }

    random_source& random() { return x_random; }

private:
    random_source x_random;
};

struct expected_facts {
    std::int64_t weight = 0;
    std::int64_t messages = 0;
    std::int64_t images = 0;
    std::int64_t copies = 1;
    std::optional<std::int64_t> limit;
    bool stream = false;
    std::string model;
};

std::string make_part(generator& make, expected_facts& expected) {
    if (make.random().chance(1, 3)) {
        ++expected.images;
        const bool first = make.random().chance(1, 2);
        const std::string link =
            "\"image_url\":" + make.space() + "{\"url\":" + make.string().json + "}";
        const std::string type = R"("type":"image_url")";
        return "{" + (first ? type + "," + link : link + make.space() + "," + type) + "}";
    }
    const auto text = make.string();
    expected.weight += text.weight;
    return R"({"type":"text",)" + make.space() + "\"text\":" + text.json + "}";
}

std::string make_message(generator& make, expected_facts& expected) {
    ++expected.messages;
    std::string out = R"({"role":)" + make.string().json;
    if (make.random().chance(1, 2)) {
        const auto text = make.string();
        expected.weight += text.weight;
        return out + ",\"content\":" + make.space() + text.json + make.space() + "}";
    }
    out += R"(,"content":[)";
    for (std::uint64_t i = 0, count = make.random().below(4); i < count; ++i) {
        out += (i == 0 ? "" : ",") + make.space() + make_part(make, expected);
    }
    return out + "]}";
}

std::string make_messages(generator& make, expected_facts& expected) {
    std::string out = "[";
    for (std::uint64_t i = 0, count = make.random().below(5); i < count; ++i) {
        out += (i == 0 ? "" : ",") + make.space() + make_message(make, expected);
    }
    return out + "]";
}

std::string make_body(generator& make, expected_facts& expected) {
    std::vector<std::string> members;
    random_source& random = make.random();
    expected.model = "model" + std::to_string(random.below(100));
    members.push_back("\"model\":" + make.space() + "\"" + expected.model + "\"");
    members.push_back("\"messages\":" + make.space() + make_messages(make, expected));
    if (random.chance(1, 2)) {
        expected.stream = random.chance(1, 2);
        members.push_back(std::string("\"stream\":") + (expected.stream ? "true" : "false"));
    }
    for (const char* name : {"max_tokens", "max_completion_tokens"}) {
        if (random.chance(1, 2)) {
            const std::int64_t limit =
                random.between(1, random.chance(1, 2) ? 4000 : quantity_limit);
            expected.limit = std::max(expected.limit.value_or(0), limit);
            members.push_back('"' + std::string(name) + "\":" + std::to_string(limit));
        }
    }
    if (random.chance(1, 3)) {
        expected.copies = random.between(1, 128);
        members.push_back("\"n\" : " + std::to_string(expected.copies));
    }
    for (std::uint64_t i = random.below(4); i > 0; --i) {
        members.push_back("\"x" + std::to_string(i) + "\":" + make.anything());
    }
    for (std::size_t i = members.size(); i > 1; --i) {
        std::swap(members[i - 1], members[random.below(i)]);
    }
    std::string out = make.space() + "{";
    for (const std::string& member : members) {
        out += (out.back() == '{' ? "" : ",") + make.space() + member + make.space();
    }
    return out + "}" + make.space();
}

TEST(inspect_property, generated_bodies_give_the_reference_facts) {
    generator make(7);
    for (int round = 0; round < 20000; ++round) {
        expected_facts expected;
        const std::string body = make_body(make, expected);
        const auto facts = inspect_exact(endpoint_kind::chat, body);
        ASSERT_TRUE(facts.has_value()) << facts.error().message << "\n" << body;
        ASSERT_EQ(facts->model, expected.model);
        ASSERT_EQ(
            body.substr(facts->model_begin, facts->model_end - facts->model_begin),
            '"' + expected.model + '"'
        );
        ASSERT_EQ(facts->stream, expected.stream);
        ASSERT_EQ(facts->sequences, expected.copies);
        ASSERT_EQ(facts->output_limit.has_value(), expected.limit.has_value());
        if (expected.limit) {
            ASSERT_EQ(facts->output_limit->count(), *expected.limit);
        }
        const std::int64_t prompt =
            (expected.weight + 3) / 4 + 4 * expected.messages + 1024 * expected.images;
        ASSERT_EQ(facts->prompt.count(), std::max<std::int64_t>(prompt, 1)) << body;
    }
}

// Broken bodies: whether they are JSON is asked of simdjson's tree parser, which reads all of it.
// What inspect adds (one model, no doubles, types) may refuse more, never less.
TEST(inspect_property, mutated_bodies_are_json_or_refused) {
    generator make(8);
    simdjson::dom::parser parser;
    int valid = 0;
    int accepted = 0;
    static constexpr std::string_view spice = "\"\\{}[]:,0-.eu \n\tx\x01\x0c\x1a\x80\xe3n1";
    for (int round = 0; round < 60000; ++round) {
        expected_facts ignored;
        std::string body = make_body(make, ignored);
        random_source& random = make.random();
        for (std::uint64_t i = random.below(3); i > 0; --i) {
            const std::size_t at = random.below(body.size());
            const char byte = spice[random.below(spice.size())];
            switch (random.below(3)) {
                case 0:
                    body[at] = byte;
                    break;
                case 1:
                    body.insert(at, 1, byte);
                    break;
                default:
                    body.erase(at, 1 + random.below(3));
                    break;
            }
            if (body.empty()) {
                body = " ";
            }
        }
        const simdjson::error_code code = parser.parse(body).error();
        if (code == simdjson::NUMBER_ERROR) {
            continue;  // it refuses valid numbers too, when no double holds them
        }
        const bool json = code == simdjson::SUCCESS;
        const auto facts = inspect_exact(endpoint_kind::chat, body);
        ASSERT_TRUE(json || !facts.has_value()) << body;
        if (json && !facts.has_value()) {
            // Refused for what it says, then: the message must not claim a broken text.
            ASSERT_EQ(facts.error().message.find("not valid"), std::string::npos)
                << facts.error().message << "\n"
                << body;
        }
        if (facts.has_value()) {
            ASSERT_GE(facts->prompt.count(), 1);
            ASSERT_GE(facts->sequences, 1);
            ASSERT_GE(facts->output_limit.value_or(tokens(1)).count(), 1);
        }
        valid += json ? 1 : 0;
        accepted += facts.has_value() ? 1 : 0;
    }
    EXPECT_GT(valid, 10000);
    EXPECT_LT(valid, 50000);
    EXPECT_GT(accepted, 10000);
}

TEST(inspect_property, truncated_bodies_are_refused) {
    generator make(9);
    for (int round = 0; round < 300; ++round) {
        expected_facts ignored;
        std::string body = make_body(make, ignored);
        body.resize(body.find_last_not_of(" \t\r\n") + 1);
        for (std::size_t size = 0; size < body.size(); ++size) {
            ASSERT_FALSE(inspect_exact(endpoint_kind::chat, std::string_view(body).substr(0, size))
                             .has_value()
            ) << body.substr(0, size);
        }
    }
}

}  // namespace
}  // namespace sluice::openai
