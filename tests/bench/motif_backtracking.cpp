// The rival of exact counting: plain backtracking in the order of time, on one thread.
//
//     motif_backtracking EDGES DELTA STRICT SECONDS  source target  source target ...
//
// EDGES is a file of uint32 sources, uint32 targets and int64 times, each array whole, sorted by
// time. Each edge is tried as the first of the motif, and the motif's edges are matched one after
// the other (Mackey et al., 2018): candidates are the edges of the matched end with fewer of them,
// from the one after the last edge matched to the end of the window. Every match is visited.
// Prints the count, the candidates that were tried, the roots done and the seconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

struct Graph {
    std::vector<uint32_t> source, target;
    std::vector<int64_t> time;
    std::vector<uint32_t> out_offsets, out_edges, in_offsets, in_edges;
};

struct Search {
    const Graph &graph;
    std::vector<int> from, to;
    std::vector<int64_t> mapped;
    bool strict;
    int64_t limit = 0;
    uint64_t matches = 0, steps = 0;

    void extend(size_t next, uint32_t last);
    void attempt(size_t next, uint32_t last, uint32_t edge);
    void scan(size_t next, uint32_t last, const uint32_t *begin, const uint32_t *end);
};

bool is_taken(const std::vector<int64_t> &mapped, int64_t vertex) {
    return std::find(mapped.begin(), mapped.end(), vertex) != mapped.end();
}

void Search::attempt(size_t next, uint32_t last, uint32_t edge) {
    ++steps;
    if (strict && graph.time[edge] == graph.time[last]) return;
    const int64_t source = graph.source[edge], target = graph.target[edge];
    const int64_t old_source = mapped[from[next]], old_target = mapped[to[next]];
    if (source == target) return;
    if (old_source >= 0 ? old_source != source : is_taken(mapped, source)) return;
    if (old_target >= 0 ? old_target != target : is_taken(mapped, target)) return;
    mapped[from[next]] = source;
    mapped[to[next]] = target;
    extend(next + 1, edge);
    mapped[from[next]] = old_source;
    mapped[to[next]] = old_target;
}

void Search::scan(size_t next, uint32_t last, const uint32_t *begin, const uint32_t *end) {
    for (const uint32_t *place = std::upper_bound(begin, end, last);
         place != end && graph.time[*place] <= limit; ++place)
        attempt(next, last, *place);
}

void Search::extend(size_t next, uint32_t last) {
    if (next == from.size()) {
        ++matches;
        return;
    }
    const int64_t source = mapped[from[next]], target = mapped[to[next]];
    const uint32_t *out_edges = graph.out_edges.data(), *in_edges = graph.in_edges.data();
    if (source < 0 && target < 0) {
        for (uint32_t edge = last + 1; edge < graph.time.size() && graph.time[edge] <= limit; ++edge)
            attempt(next, last, edge);
        return;
    }
    const uint32_t *out_begin = nullptr, *out_end = nullptr, *in_begin = nullptr, *in_end = nullptr;
    if (source >= 0) {
        out_begin = out_edges + graph.out_offsets[source];
        out_end = out_edges + graph.out_offsets[source + 1];
    }
    if (target >= 0) {
        in_begin = in_edges + graph.in_offsets[target];
        in_end = in_edges + graph.in_offsets[target + 1];
    }
    if (target < 0 || (source >= 0 && out_end - out_begin <= in_end - in_begin))
        scan(next, last, out_begin, out_end);
    else
        scan(next, last, in_begin, in_end);
}

void fill_lists(const std::vector<uint32_t> &ends, uint32_t vertex_count,
                std::vector<uint32_t> &offsets, std::vector<uint32_t> &edges) {
    offsets.assign(vertex_count + 1, 0);
    edges.resize(ends.size());
    for (uint32_t vertex : ends) ++offsets[vertex + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<uint32_t> next(offsets.begin(), offsets.end() - 1);
    for (uint32_t edge = 0; edge < ends.size(); ++edge) edges[next[ends[edge]]++] = edge;
}

bool read_graph(const char *path, Graph &graph) {
    std::FILE *file = std::fopen(path, "rb");
    if (file == nullptr) return false;
    std::fseek(file, 0, SEEK_END);
    const size_t count = std::ftell(file) / 16;
    std::rewind(file);
    graph.source.resize(count);
    graph.target.resize(count);
    graph.time.resize(count);
    const size_t read = std::fread(graph.source.data(), 4, count, file) +
                        std::fread(graph.target.data(), 4, count, file) +
                        std::fread(graph.time.data(), 8, count, file);
    std::fclose(file);
    uint32_t vertex_count = 0;
    for (uint32_t vertex : graph.source) vertex_count = std::max(vertex_count, vertex + 1);
    for (uint32_t vertex : graph.target) vertex_count = std::max(vertex_count, vertex + 1);
    fill_lists(graph.source, vertex_count, graph.out_offsets, graph.out_edges);
    fill_lists(graph.target, vertex_count, graph.in_offsets, graph.in_edges);
    return read == 3 * count;
}

}  // namespace

int main(int argc, char **argv) {
    Graph graph;
    if (argc < 7 || !read_graph(argv[1], graph)) return 1;
    const int64_t delta = std::atoll(argv[2]);
    const double most_seconds = std::atof(argv[4]);
    Search search{graph, {}, {}, std::vector<int64_t>(8, -1), std::atoi(argv[3]) != 0};
    for (int place = 5; place + 1 < argc; place += 2) {
        search.from.push_back(std::atoi(argv[place]));
        search.to.push_back(std::atoi(argv[place + 1]));
    }
    const auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    uint32_t root = 0;
    for (; root < graph.time.size(); ++root) {
        ++search.steps;
        if (graph.source[root] == graph.target[root]) continue;
        search.limit = graph.time[root] + delta;
        search.mapped[search.from[0]] = graph.source[root];
        search.mapped[search.to[0]] = graph.target[root];
        search.extend(1, root);
        search.mapped[search.from[0]] = search.mapped[search.to[0]] = -1;
        if (root % 256 == 0) {
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
            if ((seconds = spent.count()) > most_seconds) break;
        }
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("%llu %llu %u %.6f\n", static_cast<unsigned long long>(search.matches),
                static_cast<unsigned long long>(search.steps), root, spent.count());
    return 0;
}
