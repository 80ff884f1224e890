fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
        / 1e6
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let n: usize = args[2].parse().unwrap();
    let samples: Vec<f64> = text.lines().filter_map(|l| l.rsplit(',').next().unwrap().parse().ok()).take(n).collect();
    for spec in &args[3..] {
        let spec = spec.parse().unwrap();
        let mut best = f64::MAX;
        let mut result = None;
        for _ in 0..std::env::var("REPS").map_or(10, |r| r.parse().unwrap()) {
            let t = cpu();
            result = Some(predict::fit(&spec, &samples));
            best = best.min(cpu() - t);
        }
        match result.unwrap() {
            Ok(m) => println!(
                "{:6.2} ms  d {:.5?} phi {:.4?} theta {:.4?} mean {:.5} s2 {:.8}",
                best,
                m.fraction().unwrap(),
                m.coefficients(),
                m.moving_average(),
                m.mean(),
                m.innovation_variance()
            ),
            Err(e) => println!("{best:6.2} ms  {spec} {e}"),
        }
    }
}
