mod fair;
mod model;
mod task;
