use attache::{Server, json};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    attache::process::guardian::enable();
    tokio::runtime::Runtime::new()?.block_on(run())
}
async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let t = std::time::Instant::now();
    let s = Server::stdio(args.next().unwrap(), args)
        .inherit_environment()
        .connect()
        .await?;
    println!("{:?} {:?} {:?}", t.elapsed(), s, s.process_id());
    let tools = s.list_tools().await?;
    println!("{} tools, {} rejected", tools.len(), tools.rejected.len());
    let r = s.call("echo", json!({"message": "hi"})).await;
    println!("{r:?}");
    println!("{:?}", s.close().await);
    println!("{:?} {}", t.elapsed(), s.statistics().calls);
    Ok(())
}
